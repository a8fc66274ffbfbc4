#include "scenarios/run/overheads.h"

#include <fmt/format.h>

#include "models/stats/expected_maximum.h"

namespace paceline {
namespace {

constexpr AssumptionKind slowest_of{
    "{}: compute of the slowest takes {} % longer, with a spread of {} % between ranks and steps"};

}  // namespace

bool has_gpu_overheads(const Scenario& scenario) {
  return scenario.collective.library == cost::Library::nccl &&
         (!scenario.traced || scenario.traced->world == 1);
}

Contention contention_of(const Scenario& scenario) {
  Contention contention = scenario.contention;
  if (contention.automatic && has_gpu_overheads(scenario)) contention.slowdown = gpu_contention;
  return contention;
}

double slowest_rank(const Scenario& scenario, Assumptions& assumptions) {
  const double spread = scenario.spread.value_or(has_gpu_overheads(scenario) ? gpu_spread : 0);
  const double slower = spread * stats::expected_maximum(scenario.cluster.ranks().value());
  if (slower == 0) return 1;
  assumptions.add({slowest_of,
                   "ranks",
                   {fmt::format("{:.2g}", 100 * slower), fmt::format("{:.2g}", 100 * spread)}});
  return 1 + slower;
}

}  // namespace paceline
