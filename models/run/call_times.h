#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "models/run/step_trace.h"
#include "models/text/fields.h"

namespace paceline {

// When a collective call of a step ran, over all ranks.
struct CallTimes {
  std::string name;
  collectives::Collective collective;
  training::Group group = training::Group::all;
  Bytes size;
  ElementSize element_size = ElementSize(4);
  std::string algorithm;
  Seconds start, end;  // the first rank's start, the last one's end
  // The shortest time that any rank was in it: the transfer, without waiting for others.
  Seconds transfer;
  Seconds skew;                         // from the first rank's start to the last one's
  training::OperationId operation = 0;  // of the program

  // From when the last rank has joined it until the last one is done. Ranks may leave a call, and
  // join the next, at different times: more than `transfer` then.
  [[nodiscard]] Seconds together() const { return end - start - skew; }
};

constexpr auto fields_of(const CallTimes*) {
  return Fields(field("name", &CallTimes::name), field("collective", &CallTimes::collective),
                field("size_bytes", &CallTimes::size), field("algorithm", &CallTimes::algorithm),
                field("start_s", &CallTimes::start), field("end_s", &CallTimes::end),
                field("transfer_s", &CallTimes::transfer), field("skew_s", &CallTimes::skew));
}

// Of every collective call, in the program's order.
[[nodiscard]] std::vector<CallTimes> calls_of(const StepTrace& trace);

// When the last of the ranks that make a call together has joined it: what comes before is waiting.
class JoinedCalls {
 public:
  // Precondition: the trace is of that program, on all of its ranks.
  JoinedCalls(const training::StepProgram& program, std::uint32_t gpus_per_node,
              const StepTrace& trace);

  // Precondition: `id` is the call's operation.
  [[nodiscard]] Seconds by(const training::CollectiveCall& call, training::OperationId id,
                           Rank rank) const {
    return last_[id].at(place_of(call, rank));
  }

 private:
  [[nodiscard]] std::uint32_t place_of(const training::CollectiveCall& call, Rank rank) const;

  std::uint32_t gpus_per_node_;
  std::vector<std::map<std::uint32_t, Seconds>> last_;  // by operation, by place of its group
};

// The compute time of the slowest rank less that of the quickest.
[[nodiscard]] Seconds compute_spread(const StepTrace& trace);

}  // namespace paceline
