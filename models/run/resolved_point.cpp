#include "models/run/resolved_point.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "models/collectives/registry.h"
#include "models/topology/fabric.h"
#include "models/training/call_plan.h"
#include "models/units/possible.h"

namespace paceline {

namespace {

// More than any library runs: NCCL 64 at most (MAXCHANNELS, nccl's src/include/device.h).
constexpr std::uint32_t channels_max = 1024;

std::string jobs_fault(const ResolvedPoint& point) {
  std::vector<bool> taken(point.cluster.nodes);
  for (const Job& job : point.jobs) {
    if (job.nodes.empty()) return "a job has no nodes";
    if (job.nodes.size() != point.jobs[0].nodes.size()) return "jobs differ in their nodes' number";
    if (!is_possible(job.start)) return "a job has no possible start";
    for (const std::uint32_t node : job.nodes) {
      if (node >= taken.size()) return "a job is on node " + std::to_string(node) + " of too few";
      if (taken[node]) return "node " + std::to_string(node) + " is dealt out twice";
      taken[node] = true;
    }
  }
  return {};
}

std::string slowdown_fault(const ResolvedPoint& point) {
  if (point.slowdown.empty()) return {};
  if (point.slowdown.size() != job_cluster(point).ranks().value()) {
    return "slowdown is not given for every rank";
  }
  const bool possible =
      std::all_of(point.slowdown.begin(), point.slowdown.end(),
                  [](double factor) { return is_possible_factor(factor) && factor > 0; });
  return possible ? "" : "a rank has no possible slowdown";
}

std::string parts_fault(const ResolvedPoint& point) {
  const std::uint32_t ranks = job_cluster(point).ranks().value();
  for (const training::Operation& operation : point.program.operations) {
    const auto& parts = operation.rank_parts;
    if (!parts.empty() && parts.size() != ranks) {
      return operation.name + " is not given for every rank";
    }
  }
  return {};
}

// A root behind the members is a server.
std::string root_fault(const training::CollectiveCall& call, RankCount members,
                       std::uint32_t servers) {
  if (index(call.root) < members.value()) return {};
  const auto* simulated = call.simulated();
  const auto serves = [&](const collectives::Algorithm& row) {
    return row.collective == call.collective && row.traits.root_may_be_server &&
           (simulated == nullptr || simulated->algorithm == row.name);
  };
  const bool may_be_server = std::ranges::any_of(collectives::algorithms(), serves);
  const bool is_endpoint = index(call.root) - members.value() < servers;
  return may_be_server && is_endpoint ? "" : "a call has a root that is no rank";
}

std::string calls_fault(const ResolvedPoint& point) {
  const topology::Cluster cluster = job_cluster(point);
  std::optional<training::Planner> planner;  // its search for rings is for those who need it
  for (const training::CollectiveCall* call : calls_in(point.program)) {
    const RankCount members = training::group_cluster(cluster, call->group).ranks();
    if (auto fault = root_fault(*call, members, cluster.servers); !fault.empty()) return fault;
    const auto* options = call->options();
    if (options != nullptr && options->channels > channels_max) {
      return "a call has more than " + std::to_string(channels_max) + " channels";
    }
    const auto reduces = training::reduces_in(cluster, *call);
    if (reduces == collectives::Reduces::switches &&
        cluster.intra_node.kind != topology::IntraNodeKind::nvswitch) {
      return "a call is to be summed by switches that the nodes do not have";
    }
    if (reduces == collectives::Reduces::network && !cluster.network.sharp) {
      return "a call is to be summed by a network that does not add";
    }
    const auto* simulated = call->simulated();
    if (simulated == nullptr || !simulated->options.separate_servers) continue;
    if (training::find_fault(*call)) continue;  // what is said of the program
    if (!planner) planner.emplace(cluster);
    if (planner->plan_of(*call).servers > cluster.servers) return "a call has too few servers";
  }
  return {};
}

std::string measure_fault(const ResolvedPoint& point) {
  if (!point.measure) return {};
  const auto& repeated = point.measure->calls;
  if (!repeated) return point.measure->steps == 0 ? "no step is to be measured" : "";
  return repeated->iterations == 0 ? "a call is to be repeated no times" : "";
}

}  // namespace

std::optional<std::string> find_fault(const ResolvedPoint& point) {
  if (auto fault = topology::find_fault(point.cluster)) return fault;
  for (const auto& fault_of :
       {jobs_fault, slowdown_fault, parts_fault, calls_fault, measure_fault}) {
    if (const std::string fault = fault_of(point); !fault.empty()) return fault;
  }
  return std::nullopt;
}

double slowdown_of(const ResolvedPoint& point, Rank rank) {
  return point.slowdown.empty() ? 1.0 : point.slowdown.at(index(rank));
}

double slowdown_of(const ResolvedPoint& point, const training::Operation& operation, Rank rank) {
  return operation.times_on(rank, slowdown_of(point, rank));
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

std::uint32_t switches_of_job(const ResolvedPoint& point) {
  const topology::Cluster cluster = job_cluster(point);
  std::uint32_t switches = 0;
  for (const training::CollectiveCall* call : calls_in(point.program)) {
    const auto reduces = training::reduces_in(cluster, *call);
    if (reduces == collectives::Reduces::network) return cluster.nodes + 1;
    if (reduces != collectives::Reduces::endpoints) switches = cluster.nodes;
  }
  return switches;
}

Rank place_of(const ResolvedPoint& point, const Job& job, Rank endpoint) {
  const std::uint32_t gpus = point.cluster.gpus_per_node;
  const std::uint32_t node = index(endpoint) / gpus;
  if (node < job.nodes.size()) return Rank(job.nodes[node] * gpus + index(endpoint) % gpus);
  const std::uint32_t ranks = point.cluster.ranks().value(), servers = point.cluster.servers;
  const auto job_nodes = static_cast<std::uint32_t>(job.nodes.size());
  const std::uint32_t beyond_ranks = index(endpoint) - job_nodes * gpus;
  if (beyond_ranks < servers) return Rank(ranks + beyond_ranks);
  const std::uint32_t place = beyond_ranks - servers;
  const std::uint32_t network = point.cluster.nodes;
  return Rank(ranks + servers + (place == job_nodes ? network : job.nodes.at(place)));
}

}  // namespace paceline
