#include "models/cost/uniform_step.h"

#include <algorithm>
#include <utility>

#include "models/contract.h"

namespace paceline::cost {

using training::Operation;
using training::OperationId;

bool UniformStep::fits(const training::StepProgram& program) {
  training::LaneId lane_of_calls = 0;
  bool has_calls = false;
  for (const Operation& operation : program.operations) {
    if (!operation.rank_parts.empty()) return false;
    const auto* call = call_of(operation);
    if (call == nullptr) continue;
    if (call->group != training::Group::all) return false;
    if (has_calls && operation.lane != lane_of_calls) return false;
    has_calls = true;
    lane_of_calls = operation.lane;
  }
  return !program.engine &&
         std::ranges::all_of(program.lanes, [](const auto& lane) { return lane.in_flight == 1; });
}

UniformStep::UniformStep(const training::StepProgram& program, double length) {
  PACELINE_EXPECTS(fits(program));
  const std::size_t count = program.operations.size();
  alone_.work.resize(count);
  alone_.held.resize(count);
  alone_.lead.resize(count);
  for (OperationId id = 0; id < count; ++id) {
    const Operation& operation = program.operations[id];
    const bool is_call = call_of(operation) != nullptr;
    const auto begin = static_cast<std::uint32_t>(after_.size());
    after_.insert(after_.end(), operation.after.begin(), operation.after.end());
    entries_.push_back({operation.lane, is_call, is_of_host(operation.kind), begin,
                        static_cast<std::uint32_t>(after_.size())});
    if (is_call) {
      calls_.push_back(id);
    } else {
      alone_.work[id] = std::get<Seconds>(operation.work) * operation.times_on(Rank(0), length);
    }
  }
  slots_.resize(program.lanes.size());
}

// A lane of one slot is free when the operation before has ended (training::Scheduler).
void UniformStep::run(const Times& times, std::vector<training::Interval>& ran) const {
  ran.resize(entries_.size());
  std::vector<Seconds> free(slots_.size());
  for (std::size_t id = 0; id < entries_.size(); ++id) {
    const Entry& entry = entries_[id];
    Seconds start = free[entry.lane];
    for (std::uint32_t i = entry.after_begin; i < entry.after_end; ++i) {
      start = std::max(start, ran[after_[i]].end);
    }
    const Seconds end = start + times.held[id] + times.work[id];
    ran[id] = {start, end, std::nullopt};
    free[entry.lane] = end - times.lead[id];
  }
}

UniformStep::Lanes<Seconds> UniformStep::steps(const Variants& variants) const {
  std::vector<Lanes<Seconds>> ends(entries_.size()), free(slots_.size());
  Lanes<Seconds> last{};
  for (std::size_t id = 0; id < entries_.size(); ++id) {
    const Entry& entry = entries_[id];
    Lanes<Seconds> at = free[entry.lane];
    for (std::uint32_t i = entry.after_begin; i < entry.after_end; ++i) {
      const Lanes<Seconds>& end = ends[after_[i]];
      for (std::size_t k = 0; k < width; ++k) at[k] = std::max(at[k], end[k]);
    }
    for (std::size_t k = 0; k < width; ++k) {
      at[k] += variants.work[id][k];
      free[entry.lane][k] = at[k] - variants.lead[id][k];
      last[k] = std::max(last[k], at[k]);
    }
    ends[id] = at;
  }
  return last;
}

UniformStep::Times UniformStep::contended(const Times& alone, SideBySide slowdown) const {
  Times now = alone;
  std::vector<training::Interval> ran;
  for (int pass = 0; pass < settling_passes; ++pass) {
    run(now, ran);
    std::vector<BusyTime::Interval> computing, communicating;
    for (std::size_t id = 0; id < entries_.size(); ++id) {
      if (entries_[id].is_call) {
        communicating.push_back({ran[id].start, ran[id].end});
      } else if (!entries_[id].is_of_host) {
        computing.push_back({ran[id].start, ran[id].end});
      }
    }
    const BusyTime compute(std::move(computing)), calls(std::move(communicating));
    for (std::size_t id = 0; id < entries_.size(); ++id) {
      if (entries_[id].is_call) {
        now.held[id] = held_up(compute, ran[id].start, alone.work[id], slowdown.calls);
      } else if (!entries_[id].is_of_host) {
        now.work[id] = alone.work[id] * times_beside(calls, ran[id].start, ran[id].end,
                                                     alone.work[id], slowdown.compute);
      }
    }
  }
  return now;
}

}  // namespace paceline::cost
