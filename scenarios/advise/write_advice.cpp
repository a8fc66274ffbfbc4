#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "models/units/parse.h"
#include "scenarios/advise/advise.h"
#include "scenarios/predict/measure_next.h"
#include "scenarios/text_table.h"

namespace paceline::advise {
namespace {

using nlohmann::ordered_json;

void write_step(std::ostream& out, const Advice& advice) {
  const PointOutcome& outcome = advice.outcome;
  const Seconds step = outcome.predicted->totals.step;
  fmt::print(out, "{}, {} GPU{}{}{}\n\n", advice.name, outcome.gpus, outcome.gpus == 1 ? "" : "s",
             advice.point.empty() ? "" : ": ", in_words(advice.point));
  fmt::print(out, "step {} ({} to {}), {} samples/s, speedup {:.2f}; limited by {}\n\n",
             to_text(step), to_text(outcome.predicted->interval.low),
             to_text(outcome.predicted->interval.high), in_digits(outcome.predicted_throughput()),
             outcome.predicted_speedup(), advice.limits.limit());
  TextTable table({"part of the step", "time", "share"}, 1);
  for (const StepPart& part : advice.limits.parts) {
    table.add({part.name, to_text(part.time), fmt::format("{:.1f}%", 100 * (part.time / step))});
  }
  table.write(out);
  out << '\n';
  for (const std::string& line : sureness_in_words({outcome})) out << line << '\n';
}

void write_calls(std::ostream& out, const Limits& limits) {
  if (limits.calls.empty()) return;
  constexpr std::size_t calls_shown = 5;
  fmt::print(out, "\nexposed: {} of {} calls\n", limits.calls.size(), limits.call_count);
  for (std::size_t i = 0; i < std::min(calls_shown, limits.calls.size()); ++i) {
    const ExposedCall& call = limits.calls[i];
    fmt::print(out, "  {}, {}: {} of {}\n", call.name, to_text(call.size), to_text(call.exposed),
               to_text(call.in_flight));
  }
}

void write_limits(std::ostream& out, const Advice& advice) {
  const PointOutcome& outcome = advice.outcome;
  write_calls(out, advice.limits);
  fmt::print(out, "\nskew of compute between ranks: {}\n",
             advice.limits.skew > Seconds(0) ? to_text(advice.limits.skew) : "none");
  if (outcome.memory && outcome.device_memory) {
    const bool fits = outcome.memory->total() <= *outcome.device_memory;
    fmt::print(out, "memory: {}{}\n", memory_text(outcome), fits ? "" : "; does not fit");
  } else {
    out << "memory: not known\n";
  }
  const Seconds launches = advice.limits.launches;
  if (launches > Seconds(0)) {
    fmt::print(out, "host: launches take {} of the step, as training.host has it\n",
               to_text(launches));
  } else {
    out << "host: cannot be told; what it takes to launch kernels and to run wrappers is in no "
           "prediction unless training.host has it\n";
  }
}

std::string percent(double part) { return fmt::format("{:+.1f}%", 100 * part); }

void write_suggestions(std::ostream& out, const Advice& advice, bool altering) {
  bool is_first = true;
  for (const Suggestion& one : advice.suggestions) {
    if (one.alters_training != altering) continue;
    if (is_first) {
      fmt::print(out, "\n{}:\n",
                 altering ? "alters training (rounds gradients, or enlarges the batch of a step)"
                          : "leaves training as it is");
    }
    is_first = false;
    fmt::print(out, "  {} ({} to {}{})  {}: {}\n    {}\n", percent(one.gain.value),
               percent(one.gain.low), percent(one.gain.high),
               one.gain.may_be_nothing() ? ", may be nothing" : "",
               one.option ? paceline::to_text(*one.option) : "together", in_words(one.settings),
               one.command);
  }
}

ordered_json json_of_settings(const Settings& settings) {
  ordered_json list = ordered_json::array();
  for (const ScenarioFile::Setting& one : settings) list.push_back(one.path + "=" + one.value);
  return list;
}

ordered_json json_of_gain(const Gain& gain) {
  return {{"throughput", gain.value}, {"low", gain.low}, {"high", gain.high}};
}

ordered_json json_of_limits(const Advice& advice) {
  ordered_json parts = ordered_json::array(), calls = ordered_json::array();
  for (const StepPart& part : advice.limits.parts) {
    parts.push_back({{"name", part.name}, {"time_s", part.time.value()}});
  }
  for (const ExposedCall& call : advice.limits.calls) {
    calls.push_back({{"name", call.name},
                     {"size_bytes", call.size.value()},
                     {"in_flight_s", call.in_flight.value()},
                     {"exposed_s", call.exposed.value()}});
  }
  const auto& memory = advice.outcome.memory;
  const auto& device = advice.outcome.device_memory;
  return {{"by", advice.limits.limit()},
          {"parts", std::move(parts)},
          {"exposed_calls", std::move(calls)},
          {"calls", advice.limits.call_count},
          {"compute_spread_s", advice.limits.skew.value()},
          {"memory_bytes", memory ? ordered_json(memory->total().value()) : ordered_json(nullptr)},
          {"device_bytes", device ? ordered_json(device->value()) : ordered_json(nullptr)}};
}

}  // namespace

void write_text(std::ostream& out, const Advice& advice) {
  write_step(out, advice);
  write_limits(out, advice);
  if (advice.suggestions.empty() && !advice.is_complete) return;
  if (advice.suggestions.empty()) {
    fmt::print(out, "\nnothing gains more than {:.1f} % (of {} variants)\n",
               100 * std::max(advice.most.value, 0.0), advice.predicted);
    return;
  }
  fmt::print(out, "\ngain of samples/s, and its 90% interval; {} variants were predicted\n",
             advice.predicted);
  write_suggestions(out, advice, false);
  write_suggestions(out, advice, true);
}

void write_json(std::ostream& out, const Advice& advice) {
  ordered_json suggestions = ordered_json::array();
  for (const Suggestion& one : advice.suggestions) {
    suggestions.push_back(
        {{"option", one.option ? ordered_json(paceline::to_text(*one.option)) : nullptr},
         {"alters_training", one.alters_training},
         {"settings", json_of_settings(one.settings)},
         {"command", one.command},
         {"step_s", one.outcome.predicted->totals.step.value()},
         {"throughput_per_s", one.outcome.predicted_throughput().value()},
         {"gain", json_of_gain(one.gain)}});
  }
  const PointOutcome& outcome = advice.outcome;
  const ordered_json all{{"schema", "paceline.advice/1"},
                         {"complete", advice.is_complete},
                         {"scenario", advice.path},
                         {"settings", json_of_settings(advice.point)},
                         {"gpus", outcome.gpus},
                         {"step_s", outcome.predicted->totals.step.value()},
                         {"step_s_low", outcome.predicted->interval.low.value()},
                         {"step_s_high", outcome.predicted->interval.high.value()},
                         {"throughput_per_s", outcome.predicted_throughput().value()},
                         {"speedup", outcome.predicted_speedup()},
                         {"limit", json_of_limits(advice)},
                         {"suggestions", std::move(suggestions)},
                         {"most", json_of_gain(advice.most)},
                         {"variants", advice.predicted}};
  out << all.dump(1, ' ', false, ordered_json::error_handler_t::replace) << '\n';
}

}  // namespace paceline::advise
