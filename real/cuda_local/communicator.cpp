#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>

#include "models/contract.h"
#include "real/backends.h"
#include "real/cuda/device_communicator.h"
#include "real/errors.h"
#include "real/thread_world.h"

namespace paceline::real {
namespace {

using cuda::DeviceCommunicator;
using cuda::Mark;
using cuda::MarkPtr;

constexpr std::string_view backend_name = "cuda-local";

// What one side offers and the other takes.
struct Offer {
  const std::byte* from;
  int device;
  Bytes size;
  MarkPtr ready;   // of the sender's stream: may be read from here on
  MarkPtr copied;  // of the receiver's stream; null until the copy is in flight
};
using OfferPtr = std::shared_ptr<Offer>;

class World {
 public:
  using Route = std::tuple<Rank, Rank, Stream>;  // from, to

  void send(const Route& route, OfferPtr offer) {
    const std::lock_guard lock(mutex_);
    sent_[route].push_back(std::move(offer));
    changed_.notify_all();
  }
  // Null when none is sent within the timeout.
  OfferPtr receive(const Route& route, Seconds timeout) {
    std::unique_lock lock(mutex_);
    if (!wait(lock, timeout, [&] { return !sent_[route].empty(); })) return nullptr;
    auto& queue = sent_[route];
    OfferPtr offer = std::move(queue.front());
    queue.pop_front();
    return offer;
  }
  void copy_is_under_way(Offer& offer, MarkPtr copied) {
    const std::lock_guard lock(mutex_);
    offer.copied = std::move(copied);
    changed_.notify_all();
  }
  // Null when no rank receives it within the timeout.
  MarkPtr wait_for_copy(const Offer& offer, Seconds timeout) {
    std::unique_lock lock(mutex_);
    (void)wait(lock, timeout, [&] { return offer.copied != nullptr; });
    return offer.copied;
  }

 private:
  template <class Condition>
  bool wait(std::unique_lock<std::mutex>& lock, Seconds timeout, Condition condition) {
    return changed_.wait_for(lock, as_duration(timeout), condition);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Route, std::deque<OfferPtr>> sent_;
};

class LocalCommunicator : public DeviceCommunicator {
 public:
  LocalCommunicator(const ConnectRequest& request, int device, std::shared_ptr<World> world)
      : DeviceCommunicator(request, backend_name, device), world_(std::move(world)) {}

 private:
  // As NCCL does with a group: the stream goes on when all of its messages have gone. Offers are
  // made before anything is waited for, so that two ranks that send to each other both go on.
  std::vector<EventPtr> do_post(std::span<const Message> messages, Stream stream) override {
    cudaStream_t on = stream_of(stream);
    const auto ready = std::make_shared<Mark>(owner(), on);
    std::vector<OfferPtr> offers;
    for (const Message& message : messages) {
      if (message.kind == Message::Kind::send) offers.push_back(offer(message, stream, ready));
    }
    for (const Message& message : messages) {
      if (message.kind == Message::Kind::receive) receive(message, stream, on);
    }
    for (const OfferPtr& one : offers) {
      const MarkPtr copied = world_->wait_for_copy(*one, timeout());
      if (!copied) give_up("send");
      cuda::check(owner(), "cudaStreamWaitEvent", cudaStreamWaitEvent(on, copied->event(), 0));
    }
    const auto end = std::make_shared<Mark>(owner(), on);
    std::vector<EventPtr> events(messages.size());
    std::ranges::generate(events, [&] { return event_at(end, "wait"); });
    return events;
  }

  OfferPtr offer(const Message& message, Stream stream, const MarkPtr& ready) {
    const Bytes size = message.range.count * element_size(message.buffer->type());
    auto made = std::make_shared<Offer>(
        Offer{on_device(*message.buffer).at(message.range.begin), device(), size, ready, nullptr});
    world_->send({rank(), message.peer, stream}, made);
    return made;
  }

  void receive(const Message& message, Stream stream, cudaStream_t on) {
    const OfferPtr taken = world_->receive({message.peer, rank(), stream}, timeout());
    if (!taken) give_up("receive");
    PACELINE_EXPECTS(taken->size == message.range.count * element_size(message.buffer->type()));
    cuda::check(owner(), "cudaStreamWaitEvent", cudaStreamWaitEvent(on, taken->ready->event(), 0));
    // Between devices without peer access the driver goes through the host's memory.
    cuda::check(owner(), "cudaMemcpyPeerAsync",
                cudaMemcpyPeerAsync(on_device(*message.buffer).at(message.range.begin), device(),
                                    taken->from, taken->device, taken->size.value(), on));
    world_->copy_is_under_way(*taken, std::make_shared<Mark>(owner(), on));
  }

  [[noreturn]] void give_up(std::string_view call) {
    throw BackendError(std::string(backend_name), rank(), std::string(call),
                       "no end within " + std::to_string(timeout().value()) + " s");
  }

  std::shared_ptr<World> world_;
};

}  // namespace

std::unique_ptr<Communicator> connect_cuda_local(const ConnectRequest& request) {
  const cuda::Devices devices = cuda::find_devices();
  if (!devices.missing.empty()) {
    throw BackendError(std::string(backend_name), request.rank, "",
                       devices.missing + "; use --backend memory");
  }
  const int device =
      static_cast<int>(request.rank.value() % static_cast<std::uint32_t>(devices.count));
  return std::make_unique<LocalCommunicator>(
      request, device, join_thread_world<World>(request.rank, *request.meeting));
}

Backend cuda_local_backend() {
  cuda::Devices devices = cuda::find_devices();
  return {.notes = std::move(devices.notes),
          .missing = std::move(devices.missing),
          .connect = connect_cuda_local,
          .ranks = RanksAre::threads};
}

}  // namespace paceline::real
