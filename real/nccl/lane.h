#pragma once

#include <nccl.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "real/backend.h"

namespace paceline::real::nccl {

// NCCL's word on a result, in one line; empty for success and for work in progress.
[[nodiscard]] std::string describe(ncclResult_t result, ncclComm_t communicator);

// One communicator of NCCL's, made and used without blocking: NCCL sets up connections at their
// first use, and a rank that died would be waited for without end.
class Lane {
 public:
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
  [[nodiscard]] std::string connect(const ncclUniqueId& id, RankCount size, Rank rank);
  // Enqueues what `calls` says as one group of NCCL's. Groups of several threads exclude each
  // other.
  [[nodiscard]] std::string group(const std::function<ncclResult_t(ncclComm_t)>& calls);
  // A failure that NCCL has found by now.
  [[nodiscard]] std::string trouble() const;
  // Waits for what is in flight, and gives everything back.
  [[nodiscard]] std::string close();

  // Ends what is in flight. Precondition: no other thread is inside.
  void abort();

  // Takes the lane for a stream that is not finished; false when it is another's.
  [[nodiscard]] bool take(Stream stream);
  void release(Stream stream);

 private:
  [[nodiscard]] std::string issue(const std::function<ncclResult_t(ncclComm_t)>& calls);
  // What the communicator says of its work: success, in progress, or what is wrong. Precondition:
  // inside_ is held.
  [[nodiscard]] ncclResult_t ask() const;
  // Waits until the communicator is no longer in progress.
  [[nodiscard]] std::string settle() const;

  Seconds timeout_;
  const std::atomic<bool>& given_up_;
  std::mutex& issuing_;
  ncclComm_t communicator_ = nullptr;
  std::mutex mutex_;           // of groups, until they have settled
  mutable std::mutex inside_;  // of calls to NCCL with this communicator
  std::optional<Stream> user_;
};

}  // namespace paceline::real::nccl
