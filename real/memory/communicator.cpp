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
#include "real/errors.h"
#include "real/host/host_communicator.h"
#include "real/thread_world.h"

namespace paceline::real {
namespace {

// One end of a message that waits for the other, or for its copy to be done.
struct Ticket {
  std::span<std::byte> bytes;
  bool done = false;
};
using TicketPtr = std::shared_ptr<Ticket>;

// What the ranks of a group share: who has posted what.
class World {
 public:
  using Route = std::tuple<Rank, Rank, Stream>;  // from, to

  TicketPtr send(const Route& route, std::span<std::byte> bytes) {
    return post(route, bytes, sends_, receives_, [](Ticket& mine, Ticket& other) {
      std::ranges::copy(mine.bytes, other.bytes.begin());
    });
  }
  TicketPtr receive(const Route& route, std::span<std::byte> bytes) {
    return post(route, bytes, receives_, sends_, [](Ticket& mine, Ticket& other) {
      std::ranges::copy(other.bytes, mine.bytes.begin());
    });
  }
  bool wait(const Ticket& ticket, Seconds timeout) {
    std::unique_lock lock(mutex_);
    return arrived_.wait_for(lock, as_duration(timeout), [&] { return ticket.done; });
  }

 private:
  using Waiting = std::map<Route, std::deque<TicketPtr>>;

  // The later of two ends copies, outside the lock: neither end is used before its ticket is done.
  template <class Copy>
  TicketPtr post(const Route& route, std::span<std::byte> bytes, Waiting& mine, Waiting& others,
                 Copy copy) {
    auto ticket = std::make_shared<Ticket>(Ticket{bytes});
    TicketPtr other;
    {
      const std::lock_guard lock(mutex_);
      auto& queue = others[route];
      if (queue.empty()) {
        mine[route].push_back(ticket);
        return ticket;
      }
      other = std::move(queue.front());
      queue.pop_front();
    }
    PACELINE_EXPECTS(other->bytes.size() == bytes.size());
    copy(*ticket, *other);
    const std::lock_guard lock(mutex_);
    ticket->done = other->done = true;
    arrived_.notify_all();
    return ticket;
  }

  std::mutex mutex_;
  std::condition_variable arrived_;
  Waiting sends_, receives_;
};

class Arrival : public Event {
 public:
  Arrival(std::shared_ptr<World> world, TicketPtr ticket, Rank rank, Seconds timeout)
      : world_(std::move(world)), ticket_(std::move(ticket)), rank_(rank), timeout_(timeout) {}

 private:
  void do_wait() override {
    if (!world_->wait(*ticket_, timeout_)) {
      throw BackendError("memory", rank_, "wait",
                         "no end within " + std::to_string(timeout_.value()) + " s");
    }
  }

  std::shared_ptr<World> world_;
  TicketPtr ticket_;
  Rank rank_;
  Seconds timeout_;
};

class MemoryCommunicator : public HostCommunicator {
 public:
  MemoryCommunicator(const ConnectRequest& request, std::shared_ptr<World> world)
      : HostCommunicator(request.rank, request.size),
        world_(std::move(world)),
        timeout_(request.timeout) {}

 private:
  EventPtr post_one(const Message& message, Stream stream) override {
    const auto bytes = on_host(*message.buffer).bytes(message.range);
    TicketPtr ticket = message.kind == Message::Kind::send
                           ? world_->send({rank(), message.peer, stream}, bytes)
                           : world_->receive({message.peer, rank(), stream}, bytes);
    return std::make_unique<Arrival>(world_, std::move(ticket), rank(), timeout_);
  }

  std::shared_ptr<World> world_;
  Seconds timeout_;
};

}  // namespace

std::unique_ptr<Communicator> connect_memory(const ConnectRequest& request) {
  return std::make_unique<MemoryCommunicator>(
      request, join_thread_world<World>(request.rank, *request.meeting));
}

Backend memory_backend() { return {.connect = connect_memory, .ranks = RanksAre::threads}; }

}  // namespace paceline::real
