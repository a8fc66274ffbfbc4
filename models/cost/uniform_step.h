#pragma once

#include <array>
#include <vector>

#include "models/cost/contention.h"
#include "models/run/step_trace.h"

namespace paceline::cost {

// The step of ranks that are all alike and make every call together, one at a time, as numbers that
// are evaluated for many times of its parts. Equals a composed_step of one class.
class UniformStep {
 public:
  // `length` multiplies the times of all compute. Precondition: fits(program).
  UniformStep(const training::StepProgram& program, double length);

  // Whether all ranks do the same in it, and no lane has two calls in flight.
  [[nodiscard]] static bool fits(const training::StepProgram& program);

  // By operation: the time of compute, or of a call from when all ranks have joined it.
  struct Times {
    std::vector<Seconds> work;
    std::vector<Seconds> held;  // before a call (CollectiveCall::held); 0 of compute
    // How long before a call's end its lane is free; 0 for compute.
    std::vector<Seconds> lead;
  };
  // With calls that take no time.
  [[nodiscard]] const Times& alone() const { return alone_; }
  [[nodiscard]] const std::vector<training::OperationId>& calls() const { return calls_; }

  // When operations run; `ran` is made as large as the program.
  void run(const Times& times, std::vector<training::Interval>& ran) const;

  // Several variants of a step at once: times, calls with their delays, and their leads.
  static constexpr std::size_t width = 8;
  template <class Value>
  using Lanes = std::array<Value, width>;
  struct Variants {
    std::vector<Lanes<Seconds>> work, lead;
  };
  // The end of the last operation in each, as run() finds it.
  [[nodiscard]] Lanes<Seconds> steps(const Variants& variants) const;

  // The times under contention, given those without it: as cost::settled_step.
  [[nodiscard]] Times contended(const Times& alone, SideBySide slowdown) const;

 private:
  struct Entry {
    training::LaneId lane;
    bool is_call, is_of_host;
    std::uint32_t after_begin, after_end;  // in after_
  };

  std::vector<Entry> entries_;  // by operation
  std::vector<training::OperationId> after_;
  std::vector<std::uint32_t> slots_;  // by lane
  std::vector<training::OperationId> calls_;
  Times alone_;
};

}  // namespace paceline::cost
