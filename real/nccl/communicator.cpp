#include <nccl.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <thread>
#include <utility>

#include "models/contract.h"
#include "models/cost/nccl_tuning.h"
#include "real/backends.h"
#include "real/cuda/device_communicator.h"
#include "real/errors.h"
#include "real/nccl/arguments.h"

namespace paceline::real {
namespace {

using collectives::Collective;
using collectives::Partition;
using cuda::DeviceBuffer;
using cuda::DeviceCommunicator;
using cuda::Mark;

constexpr std::string_view backend_name = "nccl";

// The first with communicators that do not block (release notes of NCCL 2.14).
constexpr std::uint64_t oldest_version = NCCL_VERSION(2, 14, 0);

ncclDataType_t nccl_type(DataType type) {
  switch (type) {
    case DataType::float32: return ncclFloat32;
    case DataType::float16: return ncclFloat16;
    case DataType::bfloat16: return ncclBfloat16;
    case DataType::float64: return ncclFloat64;
    case DataType::int32: return ncclInt32;
    case DataType::int64: return ncclInt64;
  }
  PACELINE_UNREACHABLE("a type outside the enumeration");
}

void keep_first(ncclResult_t& kept, ncclResult_t next) {
  if (kept == ncclSuccess || kept == ncclInProgress) kept = next;
}

// NCCL's word on a result, in one line; empty for success and for work in progress.
std::string describe(ncclResult_t result, ncclComm_t communicator) {
  if (result == ncclSuccess || result == ncclInProgress) return "";
  std::string text = ncclGetErrorString(result);
  const char* last = ncclGetLastError(communicator);
  if (last != nullptr && *last != '\0') text += std::string(": ") + last;
  std::ranges::replace(text, '\n', ' ');
  return text;
}

// One communicator of NCCL's, made and used without blocking: NCCL sets up connections at their
// first use, and a rank that died would be waited for without end.
class Lane {
 public:
  using Calls = std::function<ncclResult_t(ncclComm_t)>;

  // `given_up` is set when the group has failed; it ends what other threads wait for. `issuing` is
  // of all lanes on a device: two threads must not enqueue on it at a time, with whatever
  // communicators (User Guide, Thread Safety); asking how one is doing enqueues nothing.
  Lane(Seconds timeout, const std::atomic<bool>& given_up, std::mutex& issuing)
      : timeout_(timeout), given_up_(given_up), issuing_(issuing) {}
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;
  ~Lane() { abort(); }

  // These return what went wrong, empty if nothing did, and wait for the others up to the timeout.

  // Precondition: the rank's device is current.
  [[nodiscard]] std::string connect(const ncclUniqueId& id, RankCount size, Rank rank) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    const ncclResult_t result =
        ncclCommInitRankConfig(&communicator_, static_cast<int>(size.value()), id,
                               static_cast<int>(rank.value()), &config);
    if (std::string wrong = describe(result, nullptr); !wrong.empty()) return wrong;
    return settle();
  }

  // Enqueues `calls` as one group of NCCL's. Groups of several threads exclude each other.
  //
  // What is enqueued is on its stream only when the communicator has settled; events that were
  // recorded earlier would be before it. Others may issue meanwhile: at its first use a connection
  // waits for the peer, which may be at another lane.
  [[nodiscard]] std::string group(const Calls& calls) {
    const std::lock_guard lock(mutex_);
    if (communicator_ == nullptr) return "the group has failed";
    std::string wrong = issue(calls);
    return wrong.empty() ? settle() : wrong;
  }

  // A failure that NCCL has found by now.
  [[nodiscard]] std::string trouble() const {
    if (communicator_ == nullptr) return "the group has failed";
    // Where another is inside, its own call tells, and no wait's timeout depends on that to return.
    const std::unique_lock lock(inside_, std::try_to_lock);
    return lock ? describe(ask(), communicator_) : "";
  }

  // Waits for what is in flight, and gives everything back.
  [[nodiscard]] std::string close() {
    if (communicator_ == nullptr) return "";
    std::string wrong = describe(ncclCommFinalize(communicator_), communicator_);
    if (wrong.empty()) wrong = settle();
    if (!wrong.empty()) return wrong;
    return describe(ncclCommDestroy(std::exchange(communicator_, nullptr)), nullptr);
  }

  // Ends what is in flight. Precondition: no other thread is inside.
  void abort() {
    if (communicator_ != nullptr) (void)ncclCommAbort(std::exchange(communicator_, nullptr));
  }

  // Takes the lane for a stream that is not finished; false when it is another's.
  [[nodiscard]] bool take(Stream stream) {
    const std::lock_guard lock(mutex_);
    if (!user_) user_ = stream;
    return *user_ == stream;
  }
  void release(Stream stream) {
    const std::lock_guard lock(mutex_);
    if (user_ == stream) user_.reset();
  }

 private:
  [[nodiscard]] std::string issue(const Calls& calls) {
    const std::scoped_lock lock(issuing_, inside_);
    if (const auto started = ncclGroupStart(); started != ncclSuccess) {
      return describe(started, communicator_);
    }
    const ncclResult_t called = calls(communicator_);
    const ncclResult_t ended = ncclGroupEnd();  // also after a failure: the group is this thread's
    for (const ncclResult_t result : {called, ended}) {
      if (std::string wrong = describe(result, communicator_); !wrong.empty()) return wrong;
    }
    return "";
  }

  // What the communicator says of its work: success, in progress, or what is wrong. Asking changes
  // it, too: it ends the job of a group that was in progress. Waits of several threads ask at once,
  // and another may be in the middle of a group. Precondition: inside_ is held.
  [[nodiscard]] ncclResult_t ask() const {
    ncclResult_t state = ncclSuccess;
    const ncclResult_t asked = ncclCommGetAsyncError(communicator_, &state);
    return asked != ncclSuccess ? asked : state;
  }

  [[nodiscard]] std::string settle() const {
    const Seconds start = steady_now();
    while (true) {
      {
        const std::lock_guard lock(inside_);
        const ncclResult_t state = ask();
        if (state != ncclInProgress) return describe(state, communicator_);
      }
      if (given_up_) return "the group has failed";
      if (steady_now() - start > timeout_) {
        return "no end within " + std::to_string(timeout_.value()) + " s";
      }
      std::this_thread::yield();
    }
  }

  Seconds timeout_;
  const std::atomic<bool>& given_up_;
  std::mutex& issuing_;
  ncclComm_t communicator_ = nullptr;
  std::mutex mutex_;           // of groups, until they have settled
  mutable std::mutex inside_;  // of calls to NCCL with this communicator
  std::optional<Stream> user_;
};

// A collective of NCCL's on one rank's buffers: what goes into one group. In place both are one.
class GroupedCall {
 public:
  GroupedCall(const NativeCall& call, const DeviceBuffer& input, DeviceBuffer& buffer,
              const Communicator& group, cudaStream_t stream)
      : call_(call),
        input_(input),
        buffer_(buffer),
        rank_(group.rank()),
        size_(group.size()),
        type_(nccl_type(buffer.type())),
        stream_(stream) {}

  ncclResult_t enqueue(ncclComm_t on) const {
    const std::size_t count = call_.count.value();
    const int root = static_cast<int>(call_.root.value());
    const std::byte* const from = input_.at(ElementCount(0));
    std::byte* const to = buffer_.at(ElementCount(0));
    switch (call_.collective) {
      case Collective::all_reduce:
        return ncclAllReduce(from, to, count, type_, ncclSum, on, stream_);
      case Collective::reduce_scatter: return reduce_scatter(on);
      case Collective::all_gather: return all_gather(on);
      case Collective::broadcast: return ncclBroadcast(from, to, count, type_, root, on, stream_);
      case Collective::reduce:
        return ncclReduce(from, to, count, type_, ncclSum, root, on, stream_);
      case Collective::all_to_all: return all_to_all(on);
      case Collective::scatter:
      case Collective::gather: return between_root_and_owners(on);
    }
    PACELINE_UNREACHABLE("a collective outside the enumeration");
  }

 private:
  [[nodiscard]] Partition chunks() const {
    return Partition::even({ElementCount(0), call_.count}, size_.value());
  }

  // NCCL knows equal chunks only; for others one call a chunk, which it runs as one kernel.
  template <class OfChunk>
  ncclResult_t for_each_chunk(OfChunk of_chunk) const {
    ncclResult_t result = ncclSuccess;
    for (std::uint32_t r = 0; r < size_.value(); ++r) {
      const ElementRange chunk = chunks().chunk(r);
      if (chunk.count == ElementCount(0)) continue;
      keep_first(result,
                 of_chunk(buffer_.at(chunk.begin), chunk.count.value(), static_cast<int>(r)));
    }
    return result;
  }

  ncclResult_t reduce_scatter(ncclComm_t on) const {
    const ElementRange mine = chunks().chunk(rank_.value());
    if (chunks().is_uniform()) {
      return ncclReduceScatter(input_.at(ElementCount(0)), buffer_.at(mine.begin),
                               mine.count.value(), type_, ncclSum, on, stream_);
    }
    return for_each_chunk([&](std::byte* at, std::size_t count, int owner) {
      return ncclReduce(at, at, count, type_, ncclSum, owner, on, stream_);
    });
  }

  ncclResult_t all_gather(ncclComm_t on) const {
    const ElementRange mine = chunks().chunk(rank_.value());
    if (chunks().is_uniform()) {
      return ncclAllGather(input_.at(mine.begin), buffer_.at(ElementCount(0)), mine.count.value(),
                           type_, on, stream_);
    }
    return for_each_chunk([&](std::byte* at, std::size_t count, int owner) {
      return ncclBroadcast(at, at, count, type_, owner, on, stream_);
    });
  }

  // ncclScatter and ncclGather, of 2.28, know equal chunks only. The root's own stays where it is.
  ncclResult_t between_root_and_owners(ncclComm_t on) const {
    const int root = static_cast<int>(call_.root.value());
    const bool is_root = rank_ == call_.root;
    const bool sends = is_root == (call_.collective == Collective::scatter);
    return for_each_chunk([&](std::byte* at, std::size_t count, int owner) {
      const bool is_mine = static_cast<int>(rank_.value()) == owner;
      if (is_root == is_mine) return ncclSuccess;
      const int peer = is_root ? owner : root;
      return sends ? ncclSend(at, count, type_, peer, on, stream_)
                   : ncclRecv(at, count, type_, peer, on, stream_);
    });
  }

  // ncclAlltoAll, of 2.28, cannot leave out the rank's own block, which stays where it is.
  ncclResult_t all_to_all(ncclComm_t on) const {
    const collectives::AllToAllBlocks blocks{size_, call_.count};
    ncclResult_t result = ncclSuccess;
    for (std::uint32_t r = 0; r < size_.value(); ++r) {
      const int peer = static_cast<int>(r);
      const ElementRange out = blocks.sent(Rank(r));
      const ElementRange in = blocks.received(Rank(r));
      if (Rank(r) == rank_ || out.count == ElementCount(0)) continue;
      keep_first(result,
                 ncclSend(buffer_.at(out.begin), out.count.value(), type_, peer, on, stream_));
      keep_first(result,
                 ncclRecv(buffer_.at(in.begin), in.count.value(), type_, peer, on, stream_));
    }
    return result;
  }

  const NativeCall& call_;
  const DeviceBuffer& input_;
  DeviceBuffer& buffer_;
  Rank rank_;
  RankCount size_;
  ncclDataType_t type_;
  cudaStream_t stream_;
};

class NcclCommunicator : public DeviceCommunicator {
 public:
  // The first id is for native calls, the others for the lanes of plans.
  NcclCommunicator(const ConnectRequest& request, int device, const std::vector<ncclUniqueId>& ids)
      : DeviceCommunicator(request, backend_name, device), native_stream_(new_stream()) {
    for (const ncclUniqueId& id : ids) {
      lanes_.push_back(std::make_unique<Lane>(timeout(), given_up_, issuing_));
      const std::string wrong = lanes_.back()->connect(id, size(), rank());
      if (!wrong.empty()) fail("ncclCommInitRankConfig", wrong);
    }
  }
  ~NcclCommunicator() override {
    (void)cudaSetDevice(device());
    // One that cannot be closed is aborted by its own destructor; the rest then are, too.
    for (const auto& lane : lanes_) {
      if (!given_up_ && !lane->close().empty()) given_up_ = true;
    }
  }

 private:
  void enqueue(Lane& lane, std::string_view call, const Lane::Calls& calls) {
    std::string wrong;
    {
      const std::shared_lock lock(life_);
      wrong = lane.group(calls);
    }
    if (!wrong.empty()) fail(call, wrong);
  }

  std::vector<EventPtr> do_post(std::span<const Message> messages, Stream stream) override {
    const auto number = nccl::lane_of(stream);
    if (!number) {
      fail("post", "plans may have " + std::to_string(nccl::lane_channels) + " channels at most");
    }
    Lane& lane = *lanes_.at(1 + *number);
    if (!lane.take(stream)) fail("post", "more than two calls of plans are under way");
    cudaStream_t on = stream_of(stream);
    enqueue(lane, "ncclGroupEnd", [&](ncclComm_t communicator) {
      ncclResult_t result = ncclSuccess;
      for (const Message& message : messages) {
        std::byte* const at = on_device(*message.buffer).at(message.range.begin);
        const std::size_t count = message.range.count.value();
        const ncclDataType_t type = nccl_type(message.buffer->type());
        const int peer = static_cast<int>(message.peer.value());
        keep_first(result, message.kind == Message::Kind::send
                               ? ncclSend(at, count, type, peer, communicator, on)
                               : ncclRecv(at, count, type, peer, communicator, on));
      }
      return result;
    });
    const auto end = std::make_shared<Mark>(owner(), on);
    std::vector<EventPtr> events(messages.size());
    std::ranges::generate(events, [&] { return event_at(end, "wait"); });
    return events;
  }

  bool has_native(Collective /*collective*/) const override { return true; }
  // Scatter and gather are messages, without the root's to itself.
  bool has_native_from(Collective collective) const override {
    return collective != Collective::all_to_all && collective != Collective::scatter &&
           collective != Collective::gather;
  }

  // Not behind the compute stream, as PyTorch's: whoever calls has waited for the data's compute,
  // and is to overlap with what was begun since.
  EventPtr do_native(const NativeCall& call) override {
    use_device();
    if (call.count > ElementCount(0)) {
      const Buffer& input = call.input != nullptr ? *call.input : *call.buffer;
      const GroupedCall grouped(call, on_device(input), on_device(*call.buffer), *this,
                                native_stream_);
      enqueue(*lanes_.front(), to_text(call.collective),
              [&](ncclComm_t communicator) { return grouped.enqueue(communicator); });
    }
    return event_at(std::make_shared<Mark>(owner(), native_stream_), "wait");
  }

  std::unique_ptr<DeviceTimer> native_timer() override { return timer_on(native_stream_); }

  std::string trouble() override {
    if (given_up_) return "the group has failed";
    const std::shared_lock lock(life_);
    for (const auto& lane : lanes_) {
      if (std::string wrong = lane->trouble(); !wrong.empty()) return wrong;
    }
    return "";
  }

  // Only an abort ends kernels that wait for a dead rank. Threads that fail later throw the same.
  [[noreturn]] void fail(std::string_view call, const std::string& message) override {
    if (is_first_failure(call, message)) {
      const std::unique_lock lock(life_);  // others leave when they see that it is given up
      for (const auto& lane : lanes_) lane->abort();
    }
    const std::lock_guard lock(failing_);
    throw *failure_;
  }

  bool is_first_failure(std::string_view call, const std::string& message) {
    const std::lock_guard lock(failing_);
    if (failure_) return false;
    failure_.emplace(std::string(backend_name), rank(), std::string(call), message);
    given_up_ = true;
    return true;
  }

  void finished(Stream stream) override {
    if (lanes_.size() == 1) return;
    if (const auto number = nccl::lane_of(stream)) lanes_.at(1 + *number)->release(stream);
  }

  std::mutex failing_;  // of the failure
  std::optional<BackendError> failure_;
  std::atomic<bool> given_up_ = false;
  std::mutex issuing_;      // of calls to NCCL
  std::shared_mutex life_;  // of NCCL's communicators: exclusive for aborting them
  std::vector<std::unique_ptr<Lane>> lanes_;
  cudaStream_t native_stream_;
};

[[noreturn]] void refuse(const ConnectRequest& request, const std::string& call,
                         const std::string& message) {
  throw BackendError(std::string(backend_name), request.rank, call, message);
}

// What a rank says that cannot take part; no place and no id begins so.
constexpr char refusal = '!';

std::uint64_t library_version() {
  int version = 0;
  return ncclGetVersion(&version) == ncclSuccess ? static_cast<std::uint64_t>(version) : 0;
}

std::string missing_here(const cuda::Devices& devices) {
  if (library_version() < oldest_version) {
    return "NCCL " + cost::nccl::version_of_code(library_version()) + " is older than " +
           cost::nccl::version_of_code(oldest_version) +
           ", from which on calls need not block (training itself asks for 2.5)";
  }
  return devices.missing;
}

std::string place_of(int device, const ConnectRequest& request) {
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  std::optional<std::string> host;
  if (const char* given = std::getenv("NCCL_HOSTID")) host = given;
  return nccl::place_of(boot, host, cuda::pci_address({backend_name, request.rank}, device));
}

// Tells the others, also when something is wrong: they would wait for it. Throws if anything is.
std::vector<std::string> agree(const ConnectRequest& request, const std::string& call,
                               const std::string& mine) {
  auto all = request.meeting->all_gather(mine);
  const auto refused = [](const std::string& one) { return !one.empty() && one[0] == refusal; };
  if (refused(mine)) refuse(request, call, mine.substr(1));
  const auto found = std::ranges::find_if(all, refused);
  if (found != all.end()) {
    refuse(request, call,
           "rank " + std::to_string(found - all.begin()) + " has refused: " + found->substr(1));
  }
  return all;
}

int agree_on_device(const ConnectRequest& request) {
  const cuda::Devices devices = cuda::find_devices();
  const std::string missing = missing_here(devices);
  if (!missing.empty()) {
    (void)agree(request, "", refusal + missing + "; use --backend gloo");
  }
  const int device =
      static_cast<int>(request.local_rank % static_cast<std::uint32_t>(devices.count));
  const auto shared = nccl::find_shared_device(agree(request, "", place_of(device, request)));
  if (shared) {
    refuse(request, "",
           "ranks " + std::to_string(shared->first.value()) + " and " +
               std::to_string(shared->second.value()) +
               " are on one GPU, which NCCL refuses: use --backend gloo for several processes on "
               "one GPU");
  }
  return device;
}

// Before the bytes of ids, which may begin with any.
constexpr char ids_follow = '=';

std::string make_ids(std::size_t count) {
  std::string all(1, ids_follow);
  for (std::size_t i = 0; i < count; ++i) {
    ncclUniqueId id;
    const std::string wrong = describe(ncclGetUniqueId(&id), nullptr);
    if (!wrong.empty()) return refusal + wrong;
    all.append(id.internal, sizeof id.internal);
  }
  return all;
}

std::vector<ncclUniqueId> agree_on_ids(const ConnectRequest& request) {
  const std::string call = "ncclGetUniqueId";
  std::vector<ncclUniqueId> ids(request.size == RankCount(1) ? 1 : 1 + nccl::lanes);
  const std::string mine = request.rank == Rank(0) ? make_ids(ids.size()) : "";
  const std::string text = agree(request, call, mine).front();
  const std::size_t bytes = ids.size() * sizeof(ncclUniqueId);
  if (text.size() != 1 + bytes) refuse(request, call, "what rank 0 sent is no id");
  std::memcpy(ids.data(), text.data() + 1, bytes);
  return ids;
}

}  // namespace

std::unique_ptr<Communicator> connect_nccl(const ConnectRequest& request) {
  const int device = agree_on_device(request);
  const auto ids = agree_on_ids(request);
  return std::make_unique<NcclCommunicator>(request, device, ids);
}

Backend nccl_backend() {
  cuda::Devices devices = cuda::find_devices();
  std::string missing = missing_here(devices);
  return {.version = cost::nccl::version_of_code(library_version()),
          .notes = std::move(devices.notes),
          .missing = std::move(missing),
          .connect = connect_nccl};
}

}  // namespace paceline::real
