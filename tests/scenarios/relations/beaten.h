#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <variant>

#include "scenarios/loader/scenario.h"
#include "scenarios/outcome/point_outcome.h"
#include "scenarios/prepare/resolve.h"
#include "tests/scenarios/relations/cuts.h"

namespace paceline::test {

// A step composed of its parts is the simulated one but for a millionth or two.
inline constexpr double composed_within = 1e-5;
inline bool beats(Seconds time, double least) {
  return time.value() < least * (1 - composed_within);
}

// Products of one GPU's passes at the peak; convolutions in fp32 may have 2.25 times fewer
// (Winograd's F(2x2, 3x3)).
[[nodiscard]] inline double seconds_at_peak(const Scenario& scenario) {
  if (!scenario.network) return 0;
  const double peak = scenario.workload.device.speed(scenario.precision).peak.value();
  if (peak <= 0) return 0;
  double flops = 0;
  for (const workload::Layer& layer : scenario.network->layers) {
    const auto* cost = std::get_if<workload::ModelledCost>(&layer.cost);
    if (cost == nullptr || cost->work == workload::Work::traffic) continue;
    const bool is_convolution = cost->work == workload::Work::convolution ||
                                cost->work == workload::Work::grouped_convolution;
    const double of_it =
        cost->forward.flops_per_sample.value() + cost->backward.flops_per_sample.value();
    flops +=
        is_convolution && scenario.precision == workload::Precision::fp32 ? of_it / 2.25 : of_it;
  }
  return flops * scenario.workload.batch_per_gpu * scenario.training.gradient_accumulation / peak;
}

// What several GPUs may take less than one for: a sharded optimizer, its part; ranks that are said
// to be faster than the one that was measured.
[[nodiscard]] inline double least_of_one_gpu(const Scenario& scenario,
                                             const PreparedPoint& prepared,
                                             const PointOutcome& outcome) {
  double seconds = outcome.one_gpu_step.value();
  const std::string strategy(scenario.strategy->name);
  const bool shards_by_key =
      strategy == "ddp" &&
      scenario.strategy_settings.find<bool>("zero_redundancy_optimizer").value_or(false);
  if (strategy == "fsdp" || strategy == "deepspeed_zero" || shards_by_key) {
    const double moved = outcome.one_gpu_step / prepared.one_gpu_step;
    seconds -= moved * scenario.workload.optimizer.value() * (1 - 1.0 / outcome.gpus);
  }
  double slowest = 0;
  for (std::uint32_t rank = 0; rank < outcome.gpus; ++rank) {
    const auto said = scenario.ranks.slowdown.find(rank);
    slowest = std::max(slowest, said == scenario.ranks.slowdown.end() ? 1 : said->second);
  }
  return seconds * std::min(slowest, 1.0) * (1 - scenario.ranks.jitter);
}

// NCCL's NVLS, on GPUs from Hopper on.
[[nodiscard]] inline bool nvswitch_adds(const Scenario& scenario) {
  return scenario.collective.library == cost::Library::nccl &&
         scenario.workload.device.compute_capability >= 9;
}

// What the gradients alone must cross, whatever calls a strategy makes of them: each rank has the
// sum of all.
[[nodiscard]] inline Cuts::Longest of_gradients(const Scenario& scenario,
                                                const PreparedPoint& prepared) {
  std::uint64_t bytes = 0;
  for (const workload::TimedLayer& layer : scenario.workload.layers) {
    for (const workload::ParameterTensor& tensor : layer.parameters) {
      bytes += (tensor.count * element_size(tensor.type)).value();
    }
  }
  const topology::Cluster job = job_cluster(prepared.point);
  const bool hosts_add = job.nodes > 1 && scenario.strategy->name == "horovod" &&
                         scenario.strategy_settings.get<bool>("hierarchical_allreduce");
  training::CollectiveCall call{.collective = collectives::Collective::all_reduce,
                                .count = ElementCount(bytes),
                                .element_size = ElementSize(1)};
  if (job.servers > 0 || hosts_add) {
    training::SimulatedCall outside;
    outside.options.separate_servers = true;
    call.how = outside;
  }
  Cuts cuts(job, nvswitch_adds(scenario));
  if (job.ranks() > RankCount(1)) cuts.add(call);
  return cuts.longest();
}

// What the point cannot beat: its calls, its gradients, one GPU's products.
[[nodiscard]] inline Cuts::Longest least_step(const Scenario& scenario,
                                              const PreparedPoint& prepared) {
  Cuts cuts(job_cluster(prepared.point), nvswitch_adds(scenario));
  cuts.add(prepared.point.program);
  Cuts::Longest least = cuts.longest();
  const bool sends_less = scenario.strategy->name == "ddp" &&
                          scenario.strategy_settings.get<std::string_view>("comm_hook") != "none";
  if (!scenario.traced && !sends_less) {
    const Cuts::Longest gradients = of_gradients(scenario, prepared);
    if (gradients.seconds > least.seconds) least = gradients;
  }
  const double peak = seconds_at_peak(scenario);
  if (peak > least.seconds) least = {peak, "the peak"};
  return least;
}

// Empty: nothing is beaten.
[[nodiscard]] inline std::string beaten(const Scenario& scenario, const PreparedPoint& prepared,
                                        const PointOutcome& outcome) {
  const Cuts::Longest least = least_step(scenario, prepared);
  const Seconds step = outcome.predicted->totals.step, low = outcome.predicted->interval.low;
  const auto says = [&](const char* what, Seconds is, double at_least, const std::string& where) {
    return fmt::format("{}: {} of {:.9g} s, at least {:.9g} s: {}", outcome.name(), what,
                       is.value(), at_least, where);
  };
  if (beats(step, least.seconds)) return says("a step", step, least.seconds, least.where);
  if (beats(low, least.seconds)) return says("a low end", low, least.seconds, least.where);
  if (outcome.gpus == 1) return "";
  const double one_gpu = least_of_one_gpu(scenario, prepared, outcome);
  if (!beats(step, one_gpu)) return "";
  return says("a step", step, one_gpu,
              fmt::format("one GPU; a speedup of {:.4g}", outcome.predicted_speedup()));
}

}  // namespace paceline::test
