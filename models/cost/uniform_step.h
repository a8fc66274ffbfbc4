#pragma once

#include <array>
#include <vector>

#include "models/cost/contention.h"
#include "models/run/step_trace.h"

namespace paceline::cost {

// A step of ranks that are all alike and make every call all together, one at a time: its program
// as numbers, which is evaluated for many times of its parts. What it has is what a composed step
// (composed_step.h) of one class of ranks has.
class UniformStep {
 public:
  // `length`: how many times as long as the program says all compute takes. Precondition:
  // fits(program).
  UniformStep(const training::StepProgram& program, double length);

  // Whether ranks are alike in it, and no lane has two calls in flight at a time.
  [[nodiscard]] static bool fits(const training::StepProgram& program);

  // By operation: what compute takes, and a call from when all have joined it.
  struct Times {
    std::vector<Seconds> work;
    std::vector<Seconds> held;  // before a call (CollectiveCall::held); 0 of compute
    // By how much its lane is free before a call ends; 0 of compute.
    std::vector<Seconds> lead;
  };
  // Of compute alone, with calls of no time.
  [[nodiscard]] const Times& alone() const { return alone_; }
  [[nodiscard]] const std::vector<training::OperationId>& calls() const { return calls_; }

  // When operations run; `ran` is made as large as the program.
  void run(const Times& times, std::vector<training::Interval>& ran) const;

  // Several variants of a step side by side: what operations take in each, calls with what holds
  // them, and how long before their end calls leave their lane.
  static constexpr std::size_t width = 8;
  template <class Value>
  using Lanes = std::array<Value, width>;
  struct Variants {
    std::vector<Lanes<Seconds>> work, lead;
  };
  // When the last operation has ended in each: as of run().
  [[nodiscard]] Lanes<Seconds> steps(const Variants& variants) const;

  // What contention makes of `alone`, times without it: as cost::settled_step.
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
