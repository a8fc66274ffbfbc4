#pragma once

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <array>
#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/device_stand_in/nccl_region.h"

// One call between ncclGroupStart and ncclGroupEnd; a call outside is a group of its own.
struct StandInCall {
  enum class Kind { send, receive, all_reduce, reduce, broadcast, all_gather, reduce_scatter };

  Kind kind;
  const std::byte* from = nullptr;  // where the bytes of the device's memory are
  std::byte* to = nullptr;
  std::size_t count = 0;
  ncclDataType_t type = ncclFloat32;
  int peer = 0;  // or root
  cudaStream_t stream = nullptr;
};

// A communicator that does not block. What it is asked happens later, in a thread of its own:
// making it waits for all ranks, a group for the peers that it is the first to use; what a group is
// to do is on its stream only then.
struct ncclComm {
 public:
  ncclComm(const ncclUniqueId& id, int ranks, int rank, int device);
  ncclComm(const ncclComm&) = delete;
  ncclComm& operator=(const ncclComm&) = delete;
  ~ncclComm();

  [[nodiscard]] int ranks() const { return ranks_; }
  [[nodiscard]] int device() const { return device_; }
  [[nodiscard]] std::atomic<bool>& inside() { return inside_; }
  [[nodiscard]] const std::string& last_error() const { return last_error_; }

  void begin_group(std::vector<StandInCall> calls);
  void begin_finalize();
  // In progress; or how the last job ended, whose thread it also joins.
  [[nodiscard]] ncclResult_t state();
  void stop() { stopped_ = true; }

 private:
  void begin(std::function<ncclResult_t()> job);
  ncclResult_t join_others();
  ncclResult_t connect(const std::vector<StandInCall>& calls);
  ncclResult_t enqueue(std::vector<StandInCall> calls);
  void run(const std::vector<StandInCall>& calls);
  // Waits until it holds; false where the communicator is stopped.
  bool wait(const std::function<bool()>& condition) const;
  ncclResult_t fail(ncclResult_t result, const std::string& what);

  ncclUniqueId id_;
  int ranks_, rank_, device_;
  paceline::stand_in::Region* region_ = nullptr;
  std::array<bool, paceline::stand_in::ranks_max> connected_{};
  std::atomic<bool> inside_ = false;
  std::atomic<bool> stopped_ = false;
  std::atomic<int> running_ = 0;  // groups that are on a stream
  std::atomic<ncclResult_t> state_ = ncclInProgress;
  std::atomic<ncclResult_t> kernel_error_ = ncclSuccess;
  std::string last_error_;
  std::string kernel_message_;
  std::thread job_;
};
