#include "scenarios/prepare/learnt_machine.h"

#include <fmt/format.h>

#include <string_view>

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

bool is_of_other_hosts(const LearntSteps::Row& row, LinkClass network) {
  const LinkClass theirs = row.known.response.place.network;
  return is_of_hosts(theirs) && is_of_hosts(network) && theirs != network;
}

// Of rows that crossed what this cluster has: one like it is enough, as sweeps have several.
void expect_same_node(const LearntSteps& steps, const topology::IntraNode& node) {
  const LearntSteps::Row* other = nullptr;
  for (const LearntSteps::Row& row : steps.rows) {
    if (row.gpus_per_node < 2) continue;
    if (row.intra_node == node.kind) return;
    other = &row;
  }
  if (other != nullptr) refuse(steps, to_text(other->intra_node), to_text(node.kind));
}

void expect_same_network(const LearntSteps& steps, topology::Transport transport,
                         LinkClass network) {
  const LearntSteps::Row* other = nullptr;
  for (const LearntSteps::Row& row : steps.rows) {
    if (row.nodes < 2) continue;
    if (row.transport == transport && !is_of_other_hosts(row, network)) return;
    other = &row;
  }
  if (other == nullptr) return;
  if (other->transport != transport) refuse(steps, to_text(other->transport), to_text(transport));
  refuse(steps, to_text(other->known.response.place.network), to_text(network));
}

}  // namespace

void expect_same_kind(const std::vector<LearntSteps>& learnt, const Scenario& scenario) {
  const topology::Cluster& cluster = scenario.cluster;
  const LinkClass network = place_of(scenario).network;
  for (const LearntSteps& steps : learnt) {
    if (cluster.gpus_per_node > 1) expect_same_node(steps, cluster.intra_node);
    if (cluster.nodes > 1) expect_same_network(steps, cluster.network.transport, network);
  }
}

}  // namespace paceline
