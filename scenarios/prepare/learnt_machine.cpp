#include "scenarios/prepare/learnt_machine.h"

#include <fmt/format.h>

#include <algorithm>

#include "models/uncertain/quantities.h"
#include "scenarios/errors.h"
#include "scenarios/prepare/place.h"

namespace paceline {
namespace {

using uncertain::LinkClass;

[[noreturn]] void refuse(const LearntSteps& steps, std::string_view theirs, std::string_view here) {
  throw InputError({"cluster.calibration", 0, 0},
                   fmt::format("was learnt from {} over {}, and this cluster has {}",
                               steps.scenario, theirs, here),
                   "learn from a scenario of this machine");
}

// Whose hosts limit TCP, where that is said.
bool is_of_hosts(LinkClass network) {
  return network == LinkClass::tcp_own || network == LinkClass::tcp_virtual;
}

}  // namespace

void expect_same_kind(const std::vector<LearntSteps>& learnt, const Scenario& scenario) {
  const topology::Cluster& cluster = scenario.cluster;
  const LinkClass network = place_of(scenario).network;
  for (const LearntSteps& steps : learnt) {
    const bool crosses_nodes =
        std::ranges::any_of(steps.rows, [](const LearntSteps::Row& row) { return row.nodes > 1; });
    const bool crosses_gpus = std::ranges::any_of(
        steps.rows, [](const LearntSteps::Row& row) { return row.gpus_per_node > 1; });
    if (crosses_gpus && cluster.gpus_per_node > 1 && steps.intra_node != cluster.intra_node.kind) {
      refuse(steps, to_text(steps.intra_node), to_text(cluster.intra_node.kind));
    }
    if (!crosses_nodes || cluster.nodes < 2) continue;
    if (steps.transport != cluster.network.transport) {
      refuse(steps, to_text(steps.transport), to_text(cluster.network.transport));
    }
    for (const LearntSteps::Row& row : steps.rows) {
      const LinkClass theirs = row.known.response.place.network;
      if (row.nodes < 2 || !is_of_hosts(theirs) || !is_of_hosts(network)) continue;
      if (theirs != network) refuse(steps, to_text(theirs), to_text(network));
    }
  }
}

}  // namespace paceline
