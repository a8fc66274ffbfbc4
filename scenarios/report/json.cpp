#include <unistd.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <ostream>

#include "scenarios/report/report.h"

namespace paceline {
namespace {

using nlohmann::ordered_json;

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

ordered_json context_of(const ScenarioFile& file) {
  ordered_json settings = ordered_json::array();
  for (const auto& setting : file.settings())
    settings.push_back(setting.path + "=" + setting.value);
  return {{"paceline", PACELINE_VERSION},
          {"commit", PACELINE_COMMIT},
          {"scenario", file.path()},
          {"scenario_sha256", file.sha256()},
          {"settings", std::move(settings)},
          {"simgrid", PACELINE_SIMGRID_VERSION},
          {"host", host_name()},
          {"seed", file.seed()},
          {"network", to_text(file.network())}};
}

ordered_json axes_of(const PointOutcome& outcome) {
  ordered_json axes = ordered_json::array();
  for (const AxisValue& axis : outcome.axes) {
    ordered_json entry{{"path", axis.path}, {"unit", axis.unit}};
    std::visit([&](const auto& value) { entry["value"] = value; }, axis.value);
    axes.push_back(std::move(entry));
  }
  return axes;
}

ordered_json calls_json(const std::vector<CallTimes>& calls) {
  ordered_json out = ordered_json::array();
  for (const CallTimes& call : calls) {
    out.push_back({{"name", call.name},
                   {"collective", to_text(call.collective)},
                   {"size_bytes", call.size.value()},
                   {"algorithm", call.algorithm},
                   {"start_s", call.start.value()},
                   {"end_s", call.end.value()},
                   {"transfer_s", call.transfer.value()},
                   {"skew_s", call.skew.value()}});
  }
  return out;
}

// Of one GPU. "total_bytes" is the sum of those before it.
ordered_json memory_json(const training::GpuMemory& memory,
                         const std::optional<Bytes>& device_memory) {
  return {{"parameters_bytes", memory.model.parameters.value()},
          {"gradients_bytes", memory.model.gradients.value()},
          {"optimizer_bytes", memory.model.optimizer.value()},
          {"buckets_bytes", memory.model.buckets.value()},
          {"gathered_bytes", memory.model.gathered.value()},
          {"buffers_bytes", memory.buffers.value()},
          {"activations_bytes", memory.activations.value()},
          {"total_bytes", memory.total().value()},
          {"device_bytes",
           device_memory ? ordered_json(device_memory->value()) : ordered_json(nullptr)}};
}

ordered_json predicted_of(const PointOutcome& outcome) {
  if (!outcome.predicted) return nullptr;
  const StepTotals& totals = outcome.predicted->totals;
  const double speedup = outcome.predicted_speedup();
  ordered_json predicted{{"step_s", totals.step.value()},
                         {"step_s_low", outcome.predicted->interval.low.value()},
                         {"step_s_high", outcome.predicted->interval.high.value()},
                         {"compute_s", totals.compute.value()},
                         {"communication_s", totals.communication.value()},
                         {"exposed_communication_s", totals.exposed_communication.value()},
                         {"throughput_per_s", outcome.predicted_throughput().value()},
                         {"speedup", speedup},
                         {"efficiency", speedup / outcome.gpus}};
  if (outcome.memory) {
    predicted["memory"] = memory_json(*outcome.memory, outcome.device_memory);
  }
  return predicted;
}

ordered_json seconds_json(const std::vector<Seconds>& times) {
  ordered_json out = ordered_json::array();
  for (const Seconds time : times) out.push_back(time.value());
  return out;
}

// What a run on hardware knows beyond the throughput.
void add_measurement(const PointOutcome& outcome, ordered_json& measured) {
  const Result& result = *outcome.measurement;
  const Measurement& measurement = *result.measurement;
  measured["samples"] = seconds_json(measurement.steps);
  measured["mad_s"] = measurement.mad.value();
  measured["compute_s"] = result.totals.compute.value();
  measured["communication_s"] = result.totals.communication.value();
  measured["exposed_communication_s"] = result.totals.exposed_communication.value();
  measured["backend"] = measurement.backend;
  measured["mode"] = to_text(measurement.mode);
  measured["cpu_busy"] = measurement.cpu_busy;
  measured["clock_error_s"] = measurement.clock_error.value();
  measured["compute_spread_s"] = outcome.compute_spread_measured.value();
  measured["calls"] = calls_json(outcome.calls_measured);
}

ordered_json measured_of(const PointOutcome& outcome) {
  if (!outcome.measured) return nullptr;
  const double throughput = outcome.measured->throughput.value();
  const auto speedup = outcome.measured_speedup();
  ordered_json measured{{"step_s", outcome.samples_per_step / throughput},
                        {"throughput_per_s", throughput},
                        {"speedup", speedup ? ordered_json(*speedup) : ordered_json(nullptr)},
                        {"samples", nullptr},
                        {"mad_s", nullptr},
                        {"fitted", outcome.measured->fitted}};
  if (outcome.measurement) {
    add_measurement(outcome, measured);
  }
  return measured;
}

ordered_json point_of(const PointOutcome& outcome, bool with_calls) {
  const auto error = outcome.error_percent();
  ordered_json point{{"axes", axes_of(outcome)},
                     {"gpus", outcome.gpus},
                     {"nodes", outcome.nodes},
                     {"predicted", predicted_of(outcome)},
                     {"measured", measured_of(outcome)},
                     {"error_percent", error ? ordered_json(*error) : ordered_json(nullptr)},
                     {"transfers", outcome.predicted ? outcome.predicted->transfers : 0},
                     {"simgrid_solves", outcome.predicted ? outcome.predicted->simgrid_solves : 0},
                     {"fidelity", to_text(outcome.fidelity)},
                     {"assumed", outcome.assumptions}};
  if (outcome.failure) point["failure"] = outcome.failure->why;
  if (outcome.predicted && (outcome.measurement || with_calls)) {
    point["predicted"]["compute_spread_s"] = outcome.predicted->compute_spread.value();
    point["predicted"]["calls"] = calls_json(outcome.predicted->calls);
  }
  if (outcome.measure_failure) {
    point["measure_failure"] = outcome.measure_failure->why;
    point["steps_measured_s"] = seconds_json(outcome.steps_measured);
  }
  return point;
}

bool is_done(const PointOutcome& outcome) { return outcome.missing() == nullptr; }

}  // namespace

void write_json(std::ostream& out, const ScenarioFile& file,
                const std::vector<PointOutcome>& outcomes, CallsInJson calls) {
  std::size_t calls_predicted = 0;
  for (const PointOutcome& outcome : outcomes) {
    if (outcome.predicted) calls_predicted += outcome.predicted->calls.size();
  }
  const bool with_calls = calls == CallsInJson::all || calls_predicted <= calls_in_json_max;
  ordered_json points = ordered_json::array();
  for (const PointOutcome& outcome : outcomes) {
    points.push_back(point_of(outcome, with_calls));
  }
  const ordered_json result{{"schema", "paceline.result/1"},
                            {"context", context_of(file)},
                            {"complete", std::ranges::all_of(outcomes, is_done)},
                            {"points", std::move(points)}};
  // Paths may be any bytes; what is no UTF-8 is replaced.
  out << result.dump(1, ' ', false, ordered_json::error_handler_t::replace) << '\n';
}

}  // namespace paceline
