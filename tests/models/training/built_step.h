#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "models/collectives/registry.h"
#include "models/training/strategy.h"

namespace paceline::training {

// Precondition: no call, and no own time for each rank.
inline Seconds time_of(const StepProgram& program, OperationId id) {
  return std::get<Seconds>(program.operations.at(id).work);
}

// What a strategy is told. Of the values those of its own keys count.
// Of each launch, hook and call.
inline HostCosts host_costs(Seconds operation, Seconds gradient, Seconds call) {
  return {{operation, operation, operation}, gradient, call};
}

struct Told {
  std::map<std::string, settings::Value> values;
  CommonSettings common;
  std::uint32_t ranks = 5;  // on each node
  std::uint32_t nodes = 1;
  Purpose purpose = Purpose::prediction;
};

inline topology::Cluster cluster_of(const Told& told) {
  topology::Cluster cluster;
  cluster.nodes = told.nodes;
  cluster.gpus_per_node = told.ranks;
  return cluster;
}

inline StepProgram build(const Strategy& strategy, const workload::Workload& workload,
                         const Told& told) {
  settings::Settings settings(strategy.keys);
  for (const auto& [name, value] : told.values) {
    for (const settings::Key& key : strategy.keys) {
      if (key.name == name) settings.set(name, value);
    }
  }
  const topology::Cluster cluster = cluster_of(told);
  StrategyRequest request{workload, cluster, settings, told.common};
  request.purpose = told.purpose;
  return build_step(strategy, request).program;
}

inline StepProgram build_plain(const workload::Workload& workload, const Told& told) {
  return plain_step({workload, cluster_of({{}, {}, 1}), {}, told.common});
}

// Those that need no trace.
inline std::vector<const Strategy*> of_gradients() {
  std::vector<const Strategy*> found;
  for (const Strategy* strategy : strategies()) {
    if (!strategy->replays_trace) found.push_back(strategy);
  }
  return found;
}

// By rings, or else trees, or else what there is; those that a strategy has planned stay.
inline StepProgram with_algorithms_named(StepProgram program) {
  for (Operation& operation : program.operations) {
    auto* call = std::get_if<CollectiveCall>(&operation.work);
    if (call == nullptr || !is_unplanned(*call)) continue;
    for (const char* name : {"direct", "binomial_tree", "ring"}) {
      if (collectives::find_algorithm(call->collective, name)) call->how = SimulatedCall{name};
    }
  }
  return program;
}

using Ids = std::vector<OperationId>;

struct Call {
  OperationId id;
  collectives::Collective collective;
  std::uint64_t count;
  std::uint64_t element_size;
  Ids after;
};

inline std::vector<Call> calls_of(const StepProgram& program, collectives::Collective collective) {
  std::vector<Call> calls;
  for (OperationId id = 0; id < program.operations.size(); ++id) {
    const Operation& operation = program.operations[id];
    const auto* call = std::get_if<CollectiveCall>(&operation.work);
    if (!call || call->collective != collective) continue;
    calls.push_back(
        {id, call->collective, call->count.value(), call->element_size.value(), operation.after});
  }
  return calls;
}

// Where parameters are updated in parts, they are gathered last, and straight after.
inline StepProgram without_last_gather(StepProgram program) {
  const Operation& last = program.operations.back();
  const CollectiveCall* call = call_of(last);
  const auto before = static_cast<OperationId>(program.operations.size() - 2);
  const bool is_gather = call != nullptr && call->collective == collectives::Collective::all_gather;
  if (is_gather && last.after == Ids{before}) program.operations.pop_back();
  return program;
}

// All calls that add up gradients.
inline std::vector<Call> reductions_of(const StepProgram& program) {
  using collectives::Collective;
  std::vector<Call> calls;
  for (const auto one : {Collective::all_reduce, Collective::reduce_scatter, Collective::reduce}) {
    for (const Call& call : calls_of(program, one)) calls.push_back(call);
  }
  return calls;
}

}  // namespace paceline::training
