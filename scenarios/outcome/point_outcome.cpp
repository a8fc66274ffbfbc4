#include "scenarios/outcome/point_outcome.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <ranges>
#include <utility>

#include "models/collectives/nccl_tests.h"
#include "models/text/number.h"
#include "scenarios/loader/scenario_file.h"

namespace paceline {

StepInterval to_interval(Seconds step, const uncertain::Believed& believed) {
  return {step * std::exp(believed.low), step * std::exp(believed.high)};
}

namespace {

// Of a fixed global batch each number of GPUs has a batch of its own.
bool differ_in_gpus_only(const PointOutcome& a, const PointOutcome& b) {
  if (a.samples_per_step / a.gpus != b.samples_per_step / b.gpus) return false;
  for (std::size_t i = 0; i < a.axes.size(); ++i) {
    if (a.axes[i].path != "gpus" && a.axes[i].value != b.axes[i].value) return false;
  }
  return true;
}

}  // namespace

void find_measured_one_gpu(std::vector<PointOutcome>& outcomes) {
  std::vector<const PointOutcome*> one_gpu;
  for (const PointOutcome& outcome : outcomes) {
    if (outcome.gpus == 1 && outcome.measured) one_gpu.push_back(&outcome);
  }
  for (PointOutcome& outcome : outcomes) {
    for (const PointOutcome* one : one_gpu) {
      if (differ_in_gpus_only(outcome, *one)) outcome.measured_one_gpu = one->measured->throughput;
    }
  }
}

bool SimGridCheck::agrees() const {
  constexpr double most = 1e-6;
  const auto is_near = [](Seconds one, Seconds other) {
    return std::abs(one.value() - other.value()) <= most * other.value();
  };
  return is_near(folded.step, flow.step) && is_near(folded.communication, flow.communication);
}

std::string SimGridCheck::sentence() const {
  if (transfers == 0) return "no transfers to check";
  if (!why_not.empty()) return "not checked: " + why_not;
  const std::string place = fmt::format("at {} GPUs", gpus);
  if (agrees()) return "SimGrid agrees " + place;
  return fmt::format(
      "SimGrid disagrees {}: step {:.9g} s folded and {:.9g} s in SimGrid, communication {:.9g} s "
      "and {:.9g} s",
      place, folded.step.value(), flow.step.value(), folded.communication.value(),
      flow.communication.value());
}

const PointFailure* PointOutcome::missing() const {
  if (failure) return &*failure;
  return measure_failure ? &*measure_failure : nullptr;
}

void PointOutcome::take(Prediction made) {
  fidelity = made.fidelity;
  assumptions = std::move(made.assumptions);
  made.assumptions.clear();
  // What known rows say of the speed of one GPU is said of it alone, too, unless it was measured.
  if (!made.response.place.compute_is_measured) {
    constexpr auto compute = static_cast<std::size_t>(uncertain::Unknown::compute);
    one_gpu_step = one_gpu_step * std::exp(made.believed.values[compute]);
  }
  predicted = std::move(made);
}

std::vector<Reduced> PointOutcome::reduced() const {
  std::map<std::pair<training::Group, ElementSize>, Reduced> all;
  for (const CallTimes& call : predicted ? predicted->calls : calls_measured) {
    if (!collectives::is_reducing(call.collective) || call.size == Bytes(0)) continue;
    Reduced& one = all[{call.group, call.element_size}];
    one.group = call.group;
    if (call.element_size == ElementSize(4)) one.type = "fp32";
    if (call.element_size == ElementSize(2)) one.type = setup.half;
    one.size += call.size;
    ++one.calls;
  }
  const auto values = std::views::values(all);
  return {values.begin(), values.end()};
}

std::string PointOutcome::name() const {
  const std::string others = in_words(axes);
  return counted(gpus, "GPU") + (others.empty() ? "" : ", " + others);
}

SamplesPerSecond PointOutcome::predicted_throughput() const {
  return SamplesPerSecond(samples_per_step / predicted->totals.step.value());
}

SamplesPerSecond PointOutcome::predicted_one_gpu() const {
  return SamplesPerSecond(samples_per_step / gpus / one_gpu_step.value());
}

double PointOutcome::predicted_speedup() const {
  return predicted_throughput() / predicted_one_gpu();
}

std::optional<double> PointOutcome::measured_speedup() const {
  if (!measured || !measured_one_gpu) return std::nullopt;
  return measured->throughput / *measured_one_gpu;
}

std::optional<double> PointOutcome::tokens_of(SamplesPerSecond throughput) const {
  if (setup.sequence == 0) return std::nullopt;
  return throughput.value() * static_cast<double>(setup.sequence);
}

std::optional<double> PointOutcome::error_percent() const {
  if (!predicted || !measured) return std::nullopt;
  return 100 * (predicted_throughput() - measured->throughput) / measured->throughput;
}

bool PointOutcome::counts() const { return predicted && measured && gpus > 1 && !measured->known; }

}  // namespace paceline
