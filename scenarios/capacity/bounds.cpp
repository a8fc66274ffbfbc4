#include "scenarios/capacity/bounds.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>

#include "models/cost/composed_step.h"
#include "models/stats/student.h"
#include "models/uncertain/covariance.h"
#include "scenarios/prepare/overheads.h"

namespace paceline::capacity {
namespace {

using uncertain::Unknown;

Seconds compute_of(const Scenario& scenario) {
  // Copies may be in what was measured.
  if (scenario.one_gpu_is_wrapped || scenario.traced) return Seconds(0);
  const workload::Workload& work = scenario.workload;
  Assumptions unsaid;
  const std::uint32_t passes = scenario.training.gradient_accumulation;
  const double slower = slowest_rank(scenario, unsaid);
  return work.input + std::max((work.forward() + work.backward()) * passes * slower,
                               work.launch_time(passes, scenario.training.host.launches));
}

// The least, with that probability, that a step's logarithm exceeds its compute's, where calls add
// `longer` or more. Sums of lengths of vectors that go along straight lines are convex.
double moved_at_least(const uncertain::Place& place, double longer, const uncertain::Priors& priors,
                      double probability) {
  const auto deviation = [&](Unknown quantity) {
    return std::sqrt(uncertain::covariance(priors, quantity, place, place, true));
  };
  const double compute = deviation(Unknown::compute);
  const double wrapper = place.is_alone() ? 0 : deviation(Unknown::wrapper);
  const double row = place.is_alone() ? 0 : priors.row;
  const double ends = stats::student_quantile(probability, uncertain::freedom);
  constexpr double looked_at = 0.25;
  const auto moved = [&](double by) {
    const double slope = std::max(1 - by / looked_at, 0.0);
    return by + ends * std::hypot(compute * slope, wrapper * slope, row);
  };
  double low = longer, high = std::max(longer, looked_at);
  constexpr int thirds = 60;
  for (int i = 0; i < thirds; ++i) {
    const double a = low + (high - low) / 3, b = high - (high - low) / 3;
    if (moved(a) < moved(b)) {
      high = b;
    } else {
      low = a;
    }
  }
  return std::min({moved(longer), moved(low), moved(high)});
}

StepBound moved(Seconds compute, double longer, const uncertain::Place& place,
                const uncertain::Priors& priors, double probability) {
  return {compute * std::exp(longer),
          compute * std::exp(moved_at_least(place, longer, priors, probability))};
}

// By a communication hook: less than a number for each gradient is sent.
bool compresses_gradients(const Scenario& scenario) {
  constexpr std::string_view hook = "comm_hook";
  const bool has_hooks = std::ranges::any_of(
      scenario.strategy->keys, [&](const settings::Key& key) { return key.name == hook; });
  return has_hooks && scenario.strategy_settings.is_given(hook);
}

Seconds communication_of(const Scenario& scenario) {
  const topology::Cluster& cluster = scenario.cluster;
  const BytesPerSecond rate = cluster.network.bandwidth * cluster.network.nics_per_node;
  if (cluster.nodes < 2 || rate <= BytesPerSecond(0)) return Seconds(0);
  if (compresses_gradients(scenario)) return Seconds(0);
  Bytes sent;
  for (const workload::TimedLayer& layer : scenario.workload.layers) {
    for (const workload::ParameterTensor& tensor : layer.parameters) {
      const auto type = training::type_on_wire(scenario.training, tensor.type);
      sent += tensor.count * std::min(element_size(type), ElementSize(2));
    }
  }
  return sent / rate;
}

// What a rank sends, or a node, over what it has, where it is one of so many.
double sent_at_least(collectives::Collective collective, double among, bool switches_add) {
  using collectives::Collective;
  const double passed_on = (among - 1) / among;
  switch (collective) {
    case Collective::all_reduce: return switches_add ? 1 : 2 * passed_on;
    case Collective::reduce_scatter:
    case Collective::all_gather: return switches_add ? 0 : passed_on;
    case Collective::broadcast: return 1;
    default: return 0;
  }
}

// News of every rank goes along all nodes of a ring or chain, else, doubling, through log2 of them.
Seconds news_at_least(const topology::Cluster& cluster, const training::CollectiveCall& call) {
  using collectives::Collective;
  const auto* simulated = call.simulated();
  const bool is_chain =
      simulated != nullptr && (simulated->algorithm == "ring" || simulated->algorithm == "chain");
  if (!is_chain) {
    return cluster.network.latency *
           (cluster.network.sharp ? 1 : std::ceil(std::log2(cluster.nodes)));
  }
  const double rounds = call.collective == Collective::all_reduce ? 2 : 1;
  const bool is_across = call.group == training::Group::across_nodes;
  const double in_nodes = is_across ? 0 : cluster.nodes * (cluster.gpus_per_node - 1.0);
  return (cluster.network.latency * (cluster.nodes - 1.0) + cluster.intra_node.latency * in_nodes) *
         rounds;
}

Seconds call_at_least(const topology::Cluster& cluster, const training::CollectiveCall& call) {
  if (const auto* known = call.known()) return known->time;
  if (cluster.servers > 0 || call.group == training::Group::node ||
      sent_at_least(call.collective, 2, false) == 0) {
    return Seconds(0);
  }
  if (cluster.nodes < 2) {
    const auto* simulated = call.simulated();
    const bool is_ring = simulated != nullptr && simulated->algorithm == "ring";
    if (!is_ring || cluster.intra_node.kind != topology::IntraNodeKind::nvswitch) return Seconds(0);
    return (call.size() / cluster.intra_node.bandwidth) *
               sent_at_least(call.collective, cluster.gpus_per_node, false) +
           news_at_least(cluster, call);
  }
  const BytesPerSecond rate = cluster.network.bandwidth * cluster.network.nics_per_node;
  const bool is_across = call.group == training::Group::across_nodes;
  const double groups = is_across ? cluster.gpus_per_node : 1;
  return (call.size() / rate) *
             (sent_at_least(call.collective, cluster.nodes, cluster.network.sharp) * groups) +
         news_at_least(cluster, call);
}

// The step of one rank, the slowest, with calls of such times.
Seconds step_of(const PreparedPoint& prepared,
                const std::function<Seconds(const training::CollectiveCall&)>& time_of) {
  ResolvedPoint alone = prepared.point;
  alone.cluster = *alone.cluster.with_gpus(1);
  alone.jobs.clear();
  const auto& slowdown = prepared.point.slowdown;
  alone.slowdown = {slowdown.empty() ? 1 : *std::ranges::max_element(slowdown)};
  for (training::Operation& operation : alone.program.operations) {
    auto* call = std::get_if<training::CollectiveCall>(&operation.work);
    if (call != nullptr) call->how = training::KnownCall{time_of(*call), ""};
  }
  return totals_of(cost::trace_of(alone)).step;
}

}  // namespace

StepBound step_at_least(const Scenario& scenario, const uncertain::Priors& priors,
                        double probability) {
  const StepBound computing =
      moved(compute_of(scenario), 0, place_of(scenario), priors, probability);
  const Seconds sent = communication_of(scenario);
  return sent > computing.limit ? StepBound{sent, sent} : computing;
}

StepBound step_at_least(const PreparedPoint& prepared, const uncertain::Priors& priors,
                        double probability) {
  const auto waits = [](const training::Operation& operation) {
    return operation.kind == training::OperationKind::wait;
  };
  if (prepared.decided_by || std::ranges::any_of(prepared.point.program.operations, waits)) {
    return {};
  }
  const topology::Cluster cluster = job_cluster(prepared.point);
  const Seconds compute =
      step_of(prepared, [](const training::CollectiveCall&) { return Seconds(0); });
  const Seconds step = step_of(
      prepared, [&](const training::CollectiveCall& call) { return call_at_least(cluster, call); });
  const double longer = std::log(step / compute);
  return moved(compute, longer, prepared.place, priors, probability);
}

}  // namespace paceline::capacity
