#include "sim/folded_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "models/contract.h"
#include "sim/collective_run.h"
#include "sim/folded_network.h"
#include "sim/regime.h"
#include "sim/step_run.h"

namespace paceline::sim {
namespace {

using training::CollectiveCall;

// Above this the flows share links in ever new ways and nothing repeats: a solve costs as much as
// some ten simulated transfers.
constexpr std::uint64_t solves_max = 1000;

std::vector<StepActor> actors_of(const ResolvedPoint& point, const Symmetry& symmetry) {
  std::vector<StepActor> actors;
  for (const auto& members : symmetry.endpoints) {
    if (members.members.front() >= point.cluster.ranks().value()) continue;  // servers come last
    StepActor& actor = actors.emplace_back();
    for (const std::uint32_t member : members.members) actor.ranks.push_back(Rank(member));
    actor.slowdown = slowdown_of(point, actor.ranks.front());
  }
  return actors;
}

}  // namespace

Result simulate_folded(const ResolvedPoint& point, Chunks chunks) {
  PACELINE_EXPECTS(!find_fault(point.program));
  const FoldedCalls calls(point, chunks);
  FoldedNetwork network(calls.symmetry().links, calls.paths(), CollectiveRun::arrived, solves_max);
  Result result;
  const auto call_of = [&](training::OperationId id) {
    return std::get_if<CollectiveCall>(&point.program.operations[id].work);
  };
  StepRun step(
      point.program, actors_of(point, calls.symmetry()), network,
      [&](training::OperationId id) -> const CallTable& { return calls.table_of(*call_of(id)); });
  Regime regime(step, network);
  try {
    step.start();
    network.run([&regime] { regime.look(); });
  } catch (const FoldedNetwork::TooManySolves& reason) {
    throw NotFolded(reason.what());
  }
  result.id = point.id;
  result.trace = step.trace();
  result.totals = totals_of(result.trace);
  std::map<CollectiveCall, std::uint64_t> transfers;
  for (training::OperationId id = 0; id < point.program.operations.size(); ++id) {
    if (const auto* call = call_of(id)) {
      const auto [entry, is_new] = transfers.try_emplace(*call, 0);
      if (is_new) entry->second = calls.table_of(*call).transfers();
      result.transfers += entry->second;
    }
  }
  result.simgrid_solves = network.solves();
  if (calls.unevenness() > 0) {
    result.notes.push_back(fmt::format(
        "folded: chunks of a round taken as equal; the largest is {:.2g} % above the size taken",
        100 * calls.unevenness()));
  }
  return result;
}

}  // namespace paceline::sim
