#pragma once

#include <cstdint>
#include <vector>

#include "models/run/call_times.h"
#include "models/run/step_trace.h"
#include "models/words.h"
#include "scenarios/outcome/point_outcome.h"

namespace paceline {

// For what the time of a step counts where several operations go on: compute hides calls, those
// hide an engine's waits, and all of these hide launches, as the totals of a step have it
// (models/run/step_trace.h). Of compute the first in this order counts, as in
// scenarios/advise/advise.h.
enum class Counted {
  passes,
  optimizer,
  copies,
  input,
  call,
  engine_copy,
  wait,
  joining,
  launch,
  load,
  idle
};

// Time of a step that counts for one operation.
struct Stretch {
  Counted as{};
  training::OperationId operation = 0;  // of nothing 0
  Seconds time;
};

// The step of the rank that ends last, second by second: a stretch for each operation and what it
// counts as, whose times together are the step.
struct Timeline {
  const RankClass* members = nullptr;  // the first class that ends last
  Seconds step;
  std::vector<Stretch> stretches;  // in the program's order; idle time last
  std::vector<Seconds> joined;     // by operation: of calls, when the last rank had joined it

  [[nodiscard]] Seconds time_of(Counted as, training::OperationId operation) const;
};

// Precondition: at least one class; the trace outlives the timeline.
[[nodiscard]] Timeline timeline_of(const StepTrace& trace, std::uint32_t gpus_per_node);

enum class TermKind {
  input,
  passes,  // forward and backward
  copies,  // on a lane that computes
  optimizer,
  slowest_rank,   // compute of the rank that ends last, over that of a rank of mean speed
  contention,     // compute that collectives beside it slow down
  believed,       // compute as measured rows say that it is, over what is described
  exposed_call,   // no compute hides it, from when the last rank has joined it
  engine_copies,  // on the lane of calls
  others,         // this rank is in a call that other ranks have not joined yet
  host,           // a host's thread launches, and nothing else goes on
  load,           // a node's CPUs get samples ready, and nothing else goes on
  engine_waits,   // an engine's thread waits for its next cycle, or for what ranks agree on
  idle,           // nothing goes on
};

constexpr auto words_of(TermKind) {
  return words_up_to<TermKind::idle>(
      "input", "forward and backward", "copies", "optimizer", "slowest rank", "contention",
      "measured rows", "exposed communication", "copies beside compute", "waiting for other ranks",
      "host launches", "waiting for input", "waiting of the engine", "nothing goes on");
}

// A part of the step, without words: `operation` of an exposed call only.
struct StepTerm {
  TermKind part{};
  Seconds time;  // below 0 where a rank is quicker than described
  training::OperationId operation = 0;
};

// What the compute of the rank that ends last is made of, over the operations that the step has
// time for (of several at once those that count): each is what it adds to the one before.
struct ComputeTimes {
  Seconds forward, backward;  // as described, on a rank of mean speed
  Seconds described;          // all compute, likewise
  Seconds on_rank;            // at the speed of that rank
  Seconds contended;          // beside its collectives
  Seconds believed;           // as it ran
  double slowdown = 1;        // of that rank
};

struct StepTerms {
  Rank rank;                    // the first that ends last
  std::vector<StepTerm> terms;  // together the step; those of no time are left out
  ComputeTimes compute;
  std::size_t hidden_calls = 0;  // that are not exposed at all
  Seconds launches;              // of a host's thread, hidden or not
};

// Precondition: the outcome is predicted, and its trace is kept.
[[nodiscard]] StepTerms terms_of(const PointOutcome& outcome, const Timeline& timeline);

}  // namespace paceline
