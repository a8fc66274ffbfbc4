#include "scenarios/prepare/overheads.h"

#include <fmt/format.h>

#include <algorithm>

#include "models/cost/nccl_call.h"
#include "models/stats/normal.h"

namespace paceline {
namespace {

constexpr AssumptionKind slowest_of{
    "{}: the slowest rank is assumed to compute {} % longer than average (spread between "
    "ranks and steps: {} %)"};

}  // namespace

bool has_gpu_overheads(const Scenario& scenario) {
  return (scenario.collective.library == cost::Library::nccl || scenario.sums_in_host_memory) &&
         (!scenario.traced || scenario.traced->world == 1);
}

Contention contention_of(const Scenario& scenario) {
  Contention contention = scenario.contention;
  if (contention.automatic && has_gpu_overheads(scenario)) {
    contention.assumed = true;
  }
  // A factor that was fitted has the rest in it.
  const bool is_open = contention.automatic || contention.assumed;
  if (!contention.calls) {
    contention.calls = is_open && has_gpu_overheads(scenario) ? gpu_call_contention : 1;
  }
  return contention;
}

double channels_of(const Scenario& scenario) {
  const topology::Cluster& cluster = scenario.cluster;
  if (scenario.collective.library != cost::Library::nccl || cluster.ranks() == RankCount(1)) {
    return 0;
  }
  using cost::nccl::Release;
  const auto& channels = scenario.collective.nccl.channels;
  const auto group = cost::nccl::group_of(
      cluster, Release::nearest(scenario.collective.nccl_minor.value_or(Release::unless_said)),
      scenario.workload.device.compute_capability, {.exactly = channels.exactly});
  // NCCL doubles what its search found (facts B9), not what the user fixed; group_of in a node does
  // not.
  const bool is_doubled = cluster.nodes == 1 &&
                          cluster.intra_node.kind != topology::IntraNodeKind::pcie &&
                          channels.exactly == 0;
  const std::uint32_t found =
      std::min(group.ring.channels * (is_doubled ? 2 : 1), group.release.channels_max());
  return channels.within(found);
}

double slowest_rank(const Scenario& scenario, Assumptions& assumptions) {
  const double spread =
      scenario.ranks.spread.value_or(has_gpu_overheads(scenario) ? gpu_spread : 0);
  const double slower = spread * stats::expected_maximum(scenario.cluster.ranks().value());
  constexpr double nothing = 1e-9;  // one rank is as slow as itself
  if (slower < nothing) return 1;
  assumptions.add({slowest_of,
                   "ranks",
                   {fmt::format("{:.2g}", 100 * slower), fmt::format("{:.2g}", 100 * spread)}});
  return 1 + slower;
}

}  // namespace paceline
