#include "models/run/resolved_point.h"

#include <numeric>
#include <utility>

#include "models/contract.h"

namespace paceline {

std::string_view to_text(Fidelity fidelity) {
  switch (fidelity) {
    case Fidelity::flow: return "flow";
    case Fidelity::folded: return "folded";
    case Fidelity::closed: return "closed";
  }
  PACELINE_UNREACHABLE("a fidelity outside the enumeration");
}

double slowdown_of(const ResolvedPoint& point, Rank rank) {
  return point.slowdown.empty() ? 1.0 : point.slowdown.at(index(rank));
}

std::vector<Job> jobs_of(const ResolvedPoint& point) {
  if (!point.jobs.empty()) return point.jobs;
  std::vector<std::uint32_t> all(point.cluster.nodes);
  std::iota(all.begin(), all.end(), 0U);
  return {{std::move(all), Seconds(0)}};
}

topology::Cluster job_cluster(const ResolvedPoint& point) {
  topology::Cluster cluster = point.cluster;
  if (!point.jobs.empty()) cluster.nodes = static_cast<std::uint32_t>(point.jobs[0].nodes.size());
  return cluster;
}

Rank place_of(const ResolvedPoint& point, const Job& job, Rank endpoint) {
  const std::uint32_t gpus = point.cluster.gpus_per_node;
  const std::uint32_t node = index(endpoint) / gpus;
  if (node < job.nodes.size()) return Rank(job.nodes[node] * gpus + index(endpoint) % gpus);
  const auto server = index(endpoint) - static_cast<std::uint32_t>(job.nodes.size()) * gpus;
  return Rank(point.cluster.ranks().value() + server);
}

}  // namespace paceline
