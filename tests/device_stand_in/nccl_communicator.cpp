#include "tests/device_stand_in/nccl_communicator.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <set>
#include <utility>

#include "tests/device_stand_in/device.h"
#include "tests/device_stand_in/nccl_collectives.h"
#include "tests/device_stand_in/settings.h"

using namespace paceline::stand_in;

namespace {

// NCCL takes NCCL_HOSTID for the machine.
std::string place_of(int device) {
  const char* host = std::getenv("NCCL_HOSTID");
  std::array<char, 32> pci{};
  (void)cudaDeviceGetPCIBusId(pci.data(), static_cast<int>(pci.size()), device);
  return std::string(host == nullptr ? "" : host) + " " + pci.data();
}

void be_late() {
  static std::atomic<std::uint64_t> jobs = 0;
  std::minstd_rand random(settings().seed * 7919 + ++jobs);
  random.discard(3);
  if (random() % 2 == 0) return;
  std::this_thread::sleep_for(std::chrono::microseconds(random() % 200));
}

}  // namespace

ncclComm::ncclComm(const ncclUniqueId& id, int ranks, int rank, int device)
    : id_(id), ranks_(ranks), rank_(rank), device_(device) {
  begin([this] { return join_others(); });
}

ncclComm::~ncclComm() {
  stopped_ = true;
  if (job_.joinable()) job_.join();
  while (running_ > 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
  if (region_ != nullptr) Region::close(region_);
}

void ncclComm::begin(std::function<ncclResult_t()> job) {
  if (job_.joinable()) job_.join();
  state_ = ncclInProgress;
  job_ = std::thread([this, work = std::move(job)] {
    set_current_device(device_);
    be_late();
    state_ = work();
  });
}

ncclResult_t ncclComm::state() {
  if (state_ == ncclInProgress) return ncclInProgress;
  if (job_.joinable()) job_.join();
  if (kernel_error_ != ncclSuccess) {
    last_error_ = kernel_message_;
    return kernel_error_;
  }
  return state_;
}

bool ncclComm::wait(const std::function<bool()>& condition) const {
  while (!condition()) {
    if (stopped_) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return true;
}

ncclResult_t ncclComm::fail(ncclResult_t result, const std::string& what) {
  last_error_ = what;
  return result;
}

ncclResult_t ncclComm::join_others() {
  if (is_at_fault("nccl-init")) return fail(ncclSystemError, "a fault that was asked for");
  region_ = Region::open(id_);
  if (region_ == nullptr) return fail(ncclSystemError, "the rank that made the id is gone");
  const std::string place = place_of(device_);
  std::strncpy(region_->places[static_cast<std::size_t>(rank_)].data(), place.c_str(), 127);
  ++region_->attached;
  const auto all = static_cast<std::uint32_t>(ranks_);
  if (!wait([&] { return region_->attached >= all; })) return ncclInternalError;
  std::set<std::string> places;
  for (std::uint32_t r = 0; r < all; ++r) places.insert(region_->places[r].data());
  if (places.size() < all) return fail(ncclInvalidUsage, "Duplicate GPU detected");
  return ncclSuccess;
}

// NCCL connects two ranks when both first use each other.
ncclResult_t ncclComm::connect(const std::vector<StandInCall>& calls) {
  std::set<int> peers;
  for (const StandInCall& call : calls) {
    const bool is_message =
        call.kind == StandInCall::Kind::send || call.kind == StandInCall::Kind::receive;
    for (int r = 0; r < ranks_; ++r) {
      if (r != rank_ && (!is_message || r == call.peer)) peers.insert(r);
    }
  }
  const auto me = static_cast<std::size_t>(rank_);
  std::erase_if(peers, [&](int peer) { return connected_[static_cast<std::size_t>(peer)]; });
  for (const int peer : peers) region_->connected[me][static_cast<std::size_t>(peer)] = true;
  for (const int peer : peers) {
    const auto other = static_cast<std::size_t>(peer);
    if (!wait([&] { return region_->connected[other][me].load(); })) return ncclInternalError;
    connected_[other] = true;
  }
  return ncclSuccess;
}

ncclResult_t ncclComm::enqueue(std::vector<StandInCall> calls) {
  cudaStream_t const stream = calls.front().stream;
  ++running_;
  paceline::stand_in::enqueue(stream, [this, all = std::move(calls)] {
    run(all);
    --running_;
  });
  if (is_at_fault("nccl-async")) return fail(ncclRemoteError, "a fault that was asked for");
  return ncclSuccess;
}

// What fails while a kernel runs is known only to those who ask later; the kernel does not end.
void ncclComm::run(const std::vector<StandInCall>& calls) {
  std::string wrong;
  if (is_at_fault("nccl-kernel")) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    wrong = "a fault that was asked for";
  } else {
    wrong = run_on_region(*region_, rank_, ranks_, calls, [this] { return stopped_.load(); });
  }
  if (wrong.empty() || stopped_) return;
  kernel_message_ = wrong;
  kernel_error_ = ncclInternalError;
  while (!stopped_) std::this_thread::sleep_for(std::chrono::microseconds(50));
}

void ncclComm::begin_group(std::vector<StandInCall> calls) {
  begin([this, all = std::move(calls)]() mutable {
    const ncclResult_t result = connect(all);
    return result == ncclSuccess ? enqueue(std::move(all)) : result;
  });
}

void ncclComm::begin_finalize() {
  begin([this] { return wait([&] { return running_ == 0; }) ? ncclSuccess : ncclInternalError; });
}
