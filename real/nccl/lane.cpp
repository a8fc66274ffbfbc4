#include "real/nccl/lane.h"

#include <algorithm>
#include <thread>
#include <utility>

namespace paceline::real::nccl {

std::string describe(ncclResult_t result, ncclComm_t communicator) {
  if (result == ncclSuccess || result == ncclInProgress) return "";
  std::string text = ncclGetErrorString(result);
  const char* last = ncclGetLastError(communicator);
  if (last != nullptr && *last != '\0') text += std::string(": ") + last;
  std::ranges::replace(text, '\n', ' ');
  return text;
}

// Asking changes the communicator, too: it ends the job of a group that was in progress. Waits of
// several threads ask at once, and another may be in the middle of a group.
ncclResult_t Lane::ask() const {
  ncclResult_t state = ncclSuccess;
  const ncclResult_t asked = ncclCommGetAsyncError(communicator_, &state);
  return asked != ncclSuccess ? asked : state;
}

std::string Lane::settle() const {
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

std::string Lane::connect(const ncclUniqueId& id, RankCount size, Rank rank) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  const ncclResult_t result = ncclCommInitRankConfig(&communicator_, static_cast<int>(size.value()),
                                                     id, static_cast<int>(rank.value()), &config);
  if (std::string wrong = describe(result, nullptr); !wrong.empty()) return wrong;
  return settle();
}

std::string Lane::issue(const std::function<ncclResult_t(ncclComm_t)>& calls) {
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

// What is enqueued is on its stream only when the communicator has settled; events that were
// recorded earlier would be before it. Others may issue meanwhile: at its first use a connection
// waits for the peer, which may be at another lane.
std::string Lane::group(const std::function<ncclResult_t(ncclComm_t)>& calls) {
  const std::lock_guard lock(mutex_);
  if (communicator_ == nullptr) return "the group has failed";
  std::string wrong = issue(calls);
  return wrong.empty() ? settle() : wrong;
}

std::string Lane::trouble() const {
  if (communicator_ == nullptr) return "the group has failed";
  // Where another is inside, its own call tells, and no wait's timeout depends on that to return.
  const std::unique_lock lock(inside_, std::try_to_lock);
  return lock ? describe(ask(), communicator_) : "";
}

std::string Lane::close() {
  if (communicator_ == nullptr) return "";
  std::string wrong = describe(ncclCommFinalize(communicator_), communicator_);
  if (wrong.empty()) wrong = settle();
  if (!wrong.empty()) return wrong;
  return describe(ncclCommDestroy(std::exchange(communicator_, nullptr)), nullptr);
}

void Lane::abort() {
  if (communicator_ != nullptr) (void)ncclCommAbort(std::exchange(communicator_, nullptr));
}

bool Lane::take(Stream stream) {
  const std::lock_guard lock(mutex_);
  if (!user_) user_ = stream;
  return *user_ == stream;
}

void Lane::release(Stream stream) {
  const std::lock_guard lock(mutex_);
  if (user_ == stream) user_.reset();
}

}  // namespace paceline::real::nccl
