#include "scenarios/capacity/bounds.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "models/stats/student.h"
#include "models/uncertain/covariance.h"
#include "scenarios/prepare/overheads.h"
#include "scenarios/prepare/place.h"

namespace paceline::capacity {
namespace {

using uncertain::Unknown;

Seconds compute_of(const Scenario& scenario) {
  // Copies may be in what was measured.
  if (scenario.one_gpu_is_wrapped || scenario.traced) return Seconds(0);
  const workload::Workload& work = scenario.workload;
  Assumptions unsaid;
  const double passes = scenario.training.gradient_accumulation;
  return work.input + (work.forward() + work.backward()) * passes * slowest_rank(scenario, unsaid);
}

// The least that a step's logarithm is above its compute's with that probability: the least over
// all that calls may make it longer. A sum of lengths of vectors that go along straight lines is
// convex.
double moved_at_least(const Scenario& scenario, const uncertain::Priors& priors,
                      double probability) {
  const uncertain::Place place = place_of(scenario);
  const auto deviation = [&](Unknown quantity) {
    return std::sqrt(uncertain::covariance(priors, quantity, place, place, true));
  };
  const double compute = deviation(Unknown::compute);
  const double wrapper = place.is_alone() ? 0 : deviation(Unknown::wrapper);
  const double row = place.is_alone() ? 0 : priors.row;
  const double ends = uncertain::student_90(uncertain::freedom) *
                      stats::student_quantile(probability, uncertain::freedom) /
                      stats::student_quantile(0.95, uncertain::freedom);
  constexpr double looked_at = 0.25;
  const auto moved = [&](double longer) {
    const double slope = std::max(1 - longer / looked_at, 0.0);
    return longer + ends * std::hypot(compute * slope, wrapper * slope, row);
  };
  double low = 0, high = looked_at;
  constexpr int thirds = 60;
  for (int i = 0; i < thirds; ++i) {
    const double a = low + (high - low) / 3, b = high - (high - low) / 3;
    (moved(a) < moved(b) ? high : low) = moved(a) < moved(b) ? b : a;
  }
  return moved(low);
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

}  // namespace

Seconds step_at_least(const Scenario& scenario, const uncertain::Priors& priors,
                      double probability) {
  const Seconds compute =
      compute_of(scenario) * std::exp(moved_at_least(scenario, priors, probability));
  return std::max(compute, communication_of(scenario));
}

}  // namespace paceline::capacity
