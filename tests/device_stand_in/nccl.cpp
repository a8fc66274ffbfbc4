// What our programs use of NCCL (real/nccl), as nccl.h declares it, on the stand-in of the runtime.

#include <nccl.h>

#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "tests/device_stand_in/device.h"
#include "tests/device_stand_in/nccl_collectives.h"
#include "tests/device_stand_in/nccl_communicator.h"
#include "tests/device_stand_in/settings.h"

using namespace paceline::stand_in;

namespace {

using Kind = StandInCall::Kind;

// NCCL is not made for two threads inside one communicator, where 2.28 crashed
// (tests/gpu/RESULTS.md), nor for two that issue work on one device at a time (User Guide, Thread
// Safety).
class Alone {
 public:
  Alone(std::atomic<bool>& inside, const char* where) : inside_(inside) {
    if (inside_.exchange(true)) misused(std::string("two threads are inside ") + where);
  }
  Alone(const Alone&) = delete;
  Alone& operator=(const Alone&) = delete;
  ~Alone() { inside_ = false; }

 private:
  std::atomic<bool>& inside_;
};

std::atomic<bool>& device_in_use(int device) {
  static std::array<std::atomic<bool>, 64> all{};
  return all.at(static_cast<std::size_t>(device));
}

// What the thread has called since it began a group.
struct Group {
  int depth = 0;
  std::map<ncclComm_t, std::vector<StandInCall>> calls;
};
thread_local Group group;

ncclResult_t issue(ncclComm_t communicator, std::vector<StandInCall> calls) {
  const Alone on_device(device_in_use(communicator->device()), "a device");
  const Alone inside(communicator->inside(), "a communicator");
  const ncclResult_t before = communicator->state();
  if (before != ncclSuccess) return before == ncclInProgress ? ncclInvalidArgument : before;
  communicator->begin_group(std::move(calls));
  return ncclInProgress;
}

ncclResult_t add_call(ncclComm_t communicator, const StandInCall& call) {
  if (communicator == nullptr || call.peer < 0 || call.peer >= communicator->ranks()) {
    return ncclInvalidArgument;
  }
  if (is_at_fault("nccl-call")) return ncclInvalidUsage;
  if (device_of_stream(call.stream) != communicator->device()) {
    misused("NCCL is given a stream of another device");
  }
  if (call.count == 0) return ncclSuccess;
  if (group.depth == 0) return issue(communicator, {call});
  group.calls[communicator].push_back(call);
  return ncclSuccess;
}

void must_be_sum(ncclRedOp_t operation) {
  if (operation != ncclSum) misused("no reduction but sums is here");
}

// A buffer of a collective: `blocks` times `count` elements from there on.
std::byte* in_memory(ncclComm_t communicator, const void* at, std::size_t count,
                     ncclDataType_t type, int blocks = 1) {
  if (communicator == nullptr || count == 0) return nullptr;
  std::byte* const found = Memory::resolve(
      communicator->device(), at, count * size_of(type) * static_cast<std::size_t>(blocks));
  if (found == nullptr) misused("a buffer of NCCL's is not memory of its device");
  return found;
}

}  // namespace

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  const int asked = settings().nccl_version;
  *version = asked > 0 ? asked : NCCL_VERSION_CODE;
  return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  if (is_at_fault("nccl-id")) return ncclSystemError;
  return Region::make(*id) ? ncclSuccess : ncclSystemError;
}

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess: return "no error";
    case ncclSystemError: return "unhandled system error (run with NCCL_DEBUG=INFO for details)";
    case ncclInternalError:
      return "internal error - please report this issue to the NCCL developers";
    case ncclInvalidArgument: return "invalid argument (run with NCCL_DEBUG=WARN for details)";
    case ncclInvalidUsage: return "invalid usage (run with NCCL_DEBUG=WARN for details)";
    case ncclRemoteError: return "remote process exited or there was a network error";
    case ncclInProgress: return "NCCL operation in progress";
    default: return "unknown result code";
  }
}

const char* ncclGetLastError(ncclComm_t communicator) {
  return communicator == nullptr ? "" : communicator->last_error().c_str();
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* communicator, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  if (config == nullptr || config->blocking != 0) misused("communicators that block are not here");
  if (ranks > static_cast<int>(ranks_max) || rank < 0 || rank >= ranks) return ncclInvalidArgument;
  *communicator = new ncclComm(id, ranks, rank, current_device());
  return ncclInProgress;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t communicator, ncclResult_t* error) {
  const Alone inside(communicator->inside(), "a communicator");
  *error = communicator->state();
  return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t communicator) {
  const Alone inside(communicator->inside(), "a communicator");
  if (is_at_fault("nccl-finalize")) return ncclSystemError;
  const ncclResult_t before = communicator->state();
  if (before != ncclSuccess) return before;
  communicator->begin_finalize();
  return ncclInProgress;
}

ncclResult_t ncclCommDestroy(ncclComm_t communicator) {
  delete communicator;
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t communicator) {
  communicator->stop();
  delete communicator;
  return ncclSuccess;
}

ncclResult_t ncclGroupStart() {
  ++group.depth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  if (group.depth == 0) return ncclInvalidUsage;
  if (--group.depth > 0) return ncclSuccess;
  ncclResult_t last = ncclSuccess;
  for (auto& [communicator, calls] : std::exchange(group.calls, {})) {
    last = issue(communicator, std::move(calls));
  }
  return last;
}

ncclResult_t ncclSend(const void* from, std::size_t count, ncclDataType_t type, int peer,
                      ncclComm_t on, cudaStream_t stream) {
  return add_call(
      on, {Kind::send, in_memory(on, from, count, type), nullptr, count, type, peer, stream});
}

ncclResult_t ncclRecv(void* to, std::size_t count, ncclDataType_t type, int peer, ncclComm_t on,
                      cudaStream_t stream) {
  return add_call(
      on, {Kind::receive, nullptr, in_memory(on, to, count, type), count, type, peer, stream});
}

ncclResult_t ncclAllReduce(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           ncclRedOp_t operation, ncclComm_t on, cudaStream_t stream) {
  must_be_sum(operation);
  return add_call(on, {Kind::all_reduce, in_memory(on, from, count, type),
                       in_memory(on, to, count, type), count, type, 0, stream});
}

ncclResult_t ncclReduce(const void* from, void* to, std::size_t count, ncclDataType_t type,
                        ncclRedOp_t operation, int root, ncclComm_t on, cudaStream_t stream) {
  must_be_sum(operation);
  return add_call(on, {Kind::reduce, in_memory(on, from, count, type),
                       in_memory(on, to, count, type), count, type, root, stream});
}

ncclResult_t ncclBroadcast(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           int root, ncclComm_t on, cudaStream_t stream) {
  return add_call(on, {Kind::broadcast, in_memory(on, from, count, type),
                       in_memory(on, to, count, type), count, type, root, stream});
}

ncclResult_t ncclAllGather(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           ncclComm_t on, cudaStream_t stream) {
  const int ranks = on == nullptr ? 1 : on->ranks();
  return add_call(on, {Kind::all_gather, in_memory(on, from, count, type),
                       in_memory(on, to, count, type, ranks), count, type, 0, stream});
}

ncclResult_t ncclReduceScatter(const void* from, void* to, std::size_t count, ncclDataType_t type,
                               ncclRedOp_t operation, ncclComm_t on, cudaStream_t stream) {
  must_be_sum(operation);
  const int ranks = on == nullptr ? 1 : on->ranks();
  return add_call(on, {Kind::reduce_scatter, in_memory(on, from, count, type, ranks),
                       in_memory(on, to, count, type), count, type, 0, stream});
}

}  // extern "C"
