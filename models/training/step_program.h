#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "models/collectives/algorithm_options.h"
#include "models/collectives/plan.h"
#include "models/topology/wire.h"
#include "models/units/units.h"

namespace paceline::training {

enum class LaneKind { compute, communication };

// A queue of a rank. Operations start in order; `in_flight` of them may run at once, so the i-th
// waits until all up to the (i - in_flight)-th are done.
struct Lane {
  std::string name;
  LaneKind kind;
  std::uint32_t in_flight = 1;
};

enum class OperationKind { input, forward, backward, copy, optimizer, collective };

[[nodiscard]] std::string_view to_text(OperationKind kind);

struct CollectiveCall {
  collectives::Collective collective;
  ElementCount count;
  ElementSize element_size;
  Rank root;
  std::string algorithm;  // a name of the registry; chosen when a point is resolved
  collectives::AlgorithmOptions options = {};
  // What it takes from when all ranks have joined it until all are done, where that is known: it is
  // not simulated then, and `algorithm` is only a name.
  std::optional<Seconds> known_time = std::nullopt;
  topology::Wire wire = {};  // of the library that is simulated

  [[nodiscard]] Bytes size() const { return count * element_size; }

  friend auto operator<=>(const CollectiveCall&, const CollectiveCall&) = default;
};

using OperationId = std::uint32_t;
using LaneId = std::uint32_t;

// A span of compute of a known time, or a collective call that all ranks join.
struct Operation {
  std::string name;
  OperationKind kind;
  LaneId lane;
  std::vector<OperationId> after;  // earlier operations of the same rank that must be done
  std::variant<Seconds, CollectiveCall> work;
  // Of compute: how much of `work` each rank takes, by rank; empty: all take all of it.
  std::vector<double> rank_parts = {};

  // Precondition: of a rank that `rank_parts` has, if it has any.
  [[nodiscard]] double part_of(Rank rank) const;
};

// One training step, the same for every rank but for how long its compute takes. Operations are
// listed so that everything an operation waits for comes before it.
struct StepProgram {
  std::vector<Lane> lanes;
  std::vector<Operation> operations;

  LaneId add_lane(Lane lane);
  OperationId add(Operation operation);
};

// A program of one call and nothing else.
[[nodiscard]] StepProgram one_call_program(CollectiveCall call);

// Nothing when the program keeps its rules, else one sentence about the first operation that does
// not: lanes exist, `after` points back, times and parts are finite and not negative, algorithms
// are named and known.
[[nodiscard]] std::optional<std::string> find_fault(const StepProgram& program);

}  // namespace paceline::training
