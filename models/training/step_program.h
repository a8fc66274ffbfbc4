#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include "models/collectives/algorithm_options.h"
#include "models/collectives/plan.h"
#include "models/stats/ratio_range.h"
#include "models/topology/wire.h"
#include "models/training/engine.h"
#include "models/units/units.h"
#include "models/words.h"

namespace paceline::training {

// host: a thread that waits, decides or launches, neither compute nor communication.
enum class LaneKind { compute, communication, host };
constexpr auto words_of(LaneKind) {
  return words_up_to<LaneKind::host>("compute", "communication", "host");
}

// A queue of a rank: operations start in order, each when one of the slots is free (scheduler.h).
struct Lane {
  std::string name;
  LaneKind kind;
  std::uint32_t in_flight = 1;
};

// A launch is what a host's thread does for an operation or a call before that can start, or in a
// gradient's hook: neither compute nor communication. Nor is a load, by which a node's CPUs get the
// next step's samples ready beside this one.
enum class OperationKind {
  input,
  forward,
  backward,
  copy,
  optimizer,
  collective,
  wait,
  launch,
  load
};

constexpr auto words_of(OperationKind) {
  return words_up_to<OperationKind::load>("input", "forward", "backward", "copy", "optimizer",
                                          "collective", "wait", "launch", "load");
}
// Whether a host's thread does it, so that it neither slows collectives nor is slowed by them.
constexpr bool is_of_host(OperationKind kind) { return kind >= OperationKind::wait; }
using paceline::to_text;

// How a call is carried out, once the point is resolved. A strategy leaves it unplanned.
struct Unplanned {
  friend auto operator<=>(const Unplanned&, const Unplanned&) = default;
};

// By the algorithm that is predicted to be the fastest; choose_automatically finds it.
struct AutomaticCall {
  collectives::AlgorithmOptions options = {};

  friend auto operator<=>(const AutomaticCall&, const AutomaticCall&) = default;
};

// By an algorithm's transfers, which are simulated or run.
struct SimulatedCall {
  std::string algorithm;  // a name of the registry
  collectives::AlgorithmOptions options = {};
  topology::Wire wire = {};  // of the library that is simulated

  friend auto operator<=>(const SimulatedCall&, const SimulatedCall&) = default;
};

// In a known time, from a calibration or a trace: not simulated.
struct KnownCall {
  Seconds time;      // from when all ranks, of all groups, have joined it until all are done
  std::string from;  // the source: "calibrated", "traced", or the algorithm that a trace records

  // The source makes no difference.
  friend auto operator<=>(const KnownCall& a, const KnownCall& b) { return a.time <=> b.time; }
  friend bool operator==(const KnownCall& a, const KnownCall& b) { return a.time == b.time; }
};

// Which ranks make a call together: all; those of each node among themselves; those of the same
// local rank, one of each node. All groups of a partition make it side by side, each on buffers of
// its own: one operation, one plan, many places.
enum class Group { all, node, across_nodes };
constexpr auto words_of(Group) {
  return words_up_to<Group::across_nodes>("all", "node", "across_nodes");
}

struct CollectiveCall {
  collectives::Collective collective;
  ElementCount count;
  ElementSize element_size;
  // Of each group, by its place in it; server k is behind the last place (direct).
  Rank root = Rank(0);
  std::variant<Unplanned, AutomaticCall, SimulatedCall, KnownCall> how = Unplanned{};
  // The interval of its predicted time.
  RatioRange range = {};
  // Of an imported trace that does not record its kind or size, or that only some of the ranks
  // make: it keeps the time of the trace.
  bool is_untold = false;
  Group group = Group::all;
  // How long compute beside it keeps each rank from its first message, once it has joined.
  Seconds held = {};
  // A push to a parameter server, or a pull from one: hosts carry it, whatever the library.
  bool by_hosts = false;

  [[nodiscard]] Bytes size() const { return count * element_size; }
  [[nodiscard]] const SimulatedCall* simulated() const { return std::get_if<SimulatedCall>(&how); }
  [[nodiscard]] const KnownCall* known() const { return std::get_if<KnownCall>(&how); }
  // Of a call that is simulated, or will be; null of others.
  [[nodiscard]] const collectives::AlgorithmOptions* options() const;

  // By what is simulated, whatever its range and what holds it: tables of calls are keyed by it.
  friend std::partial_ordering operator<=>(const CollectiveCall& a, const CollectiveCall& b) {
    return std::tie(a.collective, a.count, a.element_size, a.root, a.group, a.how) <=>
           std::tie(b.collective, b.count, b.element_size, b.root, b.group, b.how);
  }
  friend bool operator==(const CollectiveCall& a, const CollectiveCall& b) {
    return (a <=> b) == 0;
  }
};

// Makes it a push or a pull, which goes straight between each member and the root.
void send_by_hosts(CollectiveCall& call);

// Whether it is left to the library how the call is carried out.
[[nodiscard]] bool is_unplanned(const CollectiveCall& call);

// The algorithm's name, or the source of a known time; "auto", or empty before there is either.
[[nodiscard]] std::string_view algorithm_of(const CollectiveCall& call);

using OperationId = std::uint32_t;
using LaneId = std::uint32_t;

// Compute of a known time, or a collective call that all ranks join.
struct Operation {
  std::string name;
  OperationKind kind;
  LaneId lane;
  std::vector<OperationId> after;  // earlier operations of the same rank that must be done
  std::variant<Seconds, CollectiveCall> work;
  // Of compute: by rank, the part of `work` that it takes; empty: every rank takes all of it.
  std::vector<double> rank_parts = {};
  // Of imported compute: elements of each gradient that is ready when it ends; 0: not recorded.
  std::vector<ElementCount> gradients = {};

  // Precondition: of a rank that `rank_parts` has, if it has any.
  [[nodiscard]] double part_of(Rank rank) const;
  // How many times `work` it takes on a rank whose compute, not its waits and launches, is slowed.
  [[nodiscard]] double times_on(Rank rank, double slowdown) const;
};

// A lane of calls on one tensor each, which an engine starts, and fuses.
struct EngineLane {
  LaneId lane = 0;
  EngineRule rule;
  std::vector<EngineTensor> tensors;  // of the lane's operations, in their order

  friend bool operator==(const EngineLane&, const EngineLane&) = default;
};

// One training step, the same for every rank but for how long its compute takes. Operations are
// listed so that everything an operation waits for comes before it.
struct StepProgram {
  std::vector<Lane> lanes;
  std::vector<Operation> operations;
  // Of programs to run on hardware: what is simulated has an engine's decisions in its operations.
  std::optional<EngineLane> engine = std::nullopt;

  LaneId add_lane(Lane lane);
  OperationId add(Operation operation);
};

// The call of an operation; null of one that computes.
[[nodiscard]] const CollectiveCall* call_of(const Operation& operation);
[[nodiscard]] CollectiveCall* call_of(Operation& operation);

// All calls of a program, in order.
template <class Program>
[[nodiscard]] auto calls_in(Program& program) {
  return program.operations | std::views::transform([](auto& one) { return call_of(one); }) |
         std::views::filter([](auto* call) { return call != nullptr; });
}

// A program of one call and nothing else.
[[nodiscard]] StepProgram one_call_program(CollectiveCall call);

// Whether buckets can be filled with its gradients: there are some, all of known sizes.
[[nodiscard]] bool has_gradients_of_known_sizes(const StepProgram& program);

// nullopt when the call, by itself, keeps the rules of a program's calls.
[[nodiscard]] std::optional<std::string> find_fault(const CollectiveCall& call);

// nullopt when the program keeps its rules, else one sentence about the first operation that does
// not: lanes exist, `after` points back, times and parts are possible (units/possible.h), calls are
// planned, algorithms known.
[[nodiscard]] std::optional<std::string> find_fault(const StepProgram& program);

}  // namespace paceline::training
