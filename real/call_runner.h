#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "models/run/resolved_point.h"
#include "real/backend.h"
#include "real/pattern.h"
#include "real/plan_runner.h"

namespace paceline::real {

// One rank's part of a point whose call is repeated (RepeatedCalls), as nccl-tests repeats one: a
// number of calls to warm up, then the calls that count begun back to back with one wait at their
// end, then one call whose result is checked. Of our own are, in between, as many calls each waited
// for before the next begins, and the device's time of those back to back.
//
// Where the communicator is not in order, and by plans, a call back to back begins when the one
// before is done: two at a time on one buffer are not allowed. Unlike nccl-tests, which moves
// through a buffer of the largest size, all calls are on the same elements.
class CallRunner {
 public:
  enum class Way { out_of_place, in_place };

  // The point must outlive the runner. Throws UsageError when the program is not one call of all
  // ranks, or the backend cannot do it: another number of ranks, servers, no such collective of its
  // own, plans through switches.
  CallRunner(const ResolvedPoint& point, Communicator& communicator);

  // By plans only in place. An all-to-all is out of place: its buffer has two halves.
  [[nodiscard]] bool has(Way way) const;
  // All ranks do it together. Precondition: has(way). Throws BackendError.
  [[nodiscard]] RepeatedTime measure(Way way);

 private:
  struct Buffers {
    std::unique_ptr<Buffer> result;
    std::unique_ptr<Buffer> input;  // null: in place
  };

  [[nodiscard]] Buffers make_buffers(Way way) const;
  void fill(const Buffers& buffers);
  // `timer` may be null.
  Seconds back_to_back(const Buffers& buffers, std::uint32_t calls, DeviceTimer* timer);
  void call(const Buffers& buffers);
  [[nodiscard]] NativeCall native_call(const Buffers& buffers) const;

  Communicator& communicator_;
  MeasureSettings settings_;
  Pattern pattern_;
  PlanRunner plans_;
  std::optional<collectives::Plan> plan_;  // nullopt: the library's own collective
  Stream next_stream_ = 0;
};

}  // namespace paceline::real
