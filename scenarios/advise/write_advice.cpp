#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>
#include <utility>

#include "models/units/parse.h"
#include "scenarios/advise/advise.h"
#include "scenarios/line_width.h"
#include "scenarios/predict/measure_next.h"
#include "scenarios/remarks.h"
#include "scenarios/text_table.h"

namespace paceline::advise {
namespace {

using nlohmann::ordered_json;

// How much a decision may change by a remark.
namespace weight {
constexpr int memory = 5, measure_next = 4, widest = 3, skew = 2, host = 1;
}  // namespace weight

void write_step(std::ostream& out, const Advice& advice) {
  const PointOutcome& outcome = advice.outcome;
  const Seconds step = outcome.predicted->totals.step;
  write_headline(
      out, fmt::format("{}, {} GPU{}{}{}", advice.name, outcome.gpus, outcome.gpus == 1 ? "" : "s",
                       advice.point.empty() ? "" : ": ", in_words(advice.point)));
  write_line(out, fmt::format("step {} ({} to {}), {} samples/s, speedup {:.2f}; limited by {}",
                              to_text(step), to_text(outcome.predicted->interval.low),
                              to_text(outcome.predicted->interval.high),
                              in_digits(outcome.predicted_throughput()),
                              outcome.predicted_speedup(), advice.limits.limit()));
  out << '\n';
  TextTable table({"part of the step", "time", "share"}, 1);
  for (const StepPart& part : advice.limits.parts) {
    table.add({part.name, to_text(part.time), fmt::format("{:.1f}%", 100 * (part.time / step))});
    table.add_bar("of the step", part.time / step);
  }
  table.write(out);
}

void add_calls(Remarks& remarks, const Limits& limits) {
  if (limits.calls.empty()) return;
  constexpr std::size_t calls_shown = 5;
  remarks.add_detail(
      fmt::format("exposed calls: {} of {}", limits.calls.size(), limits.call_count));
  for (std::size_t i = 0; i < std::min(calls_shown, limits.calls.size()); ++i) {
    const ExposedCall& call = limits.calls[i];
    remarks.add_detail(fmt::format("  {}, {}: {} of {} exposed", call.name, to_text(call.size),
                                   to_text(call.exposed), to_text(call.in_flight)));
  }
}

Remarks remarks_on(const Advice& advice) {
  const PointOutcome& outcome = advice.outcome;
  Remarks remarks;
  const Sureness found = sureness_in_words({outcome});
  if (!found.widest.empty()) remarks.add(weight::widest, found.widest);
  if (!found.next.empty()) remarks.add(weight::measure_next, found.next);
  if (advice.limits.skew > Seconds(0)) {
    remarks.add(weight::skew, fmt::format("ranks: compute differs by {} between them",
                                          to_text(advice.limits.skew)));
  }
  if (outcome.memory && outcome.device_memory) {
    const bool fits = outcome.memory->total() <= *outcome.device_memory;
    remarks.add(weight::memory, fmt::format("memory: {} per GPU{}", memory_text(outcome),
                                            fits ? "" : "; does not fit"));
  } else {
    remarks.add(weight::memory, "memory: not known");
  }
  const Seconds launches = advice.limits.launches;
  if (launches > Seconds(0)) {
    remarks.add(weight::host,
                fmt::format("host: kernel launches take {} of the step (training.host)",
                            to_text(launches)));
  } else {
    remarks.add(
        weight::host,
        "host: CPU overhead is not modelled; kernel-launch and wrapper time counts only where "
        "training.host gives it, so small models may be slower than predicted");
  }
  add_calls(remarks, advice.limits);
  remarks.assume(outcome.assumptions);
  return remarks;
}

std::string percent(double part) { return fmt::format("{:+.1f}%", 100 * part); }

// As it is to be pasted: never broken into lines.
void write_command(std::ostream& out, const std::string& command) {
  if (text_form(out).is_markdown) return write_line(out, "  " + command);
  out << "    " << command << '\n';
}

void write_suggestions(std::ostream& out, const Advice& advice, bool altering) {
  bool is_first = true;
  for (const Suggestion& one : advice.suggestions) {
    if (one.alters_training != altering) continue;
    if (std::exchange(is_first, false)) {
      out << '\n';
      write_line(out, altering
                          ? "changes training (rounds gradients, or makes a step's batch larger):"
                          : "leaves training as it is:");
    }
    write_line(out, fmt::format("  {} ({} to {}{})  {}: {}", percent(one.gain.value),
                                percent(one.gain.low), percent(one.gain.high),
                                one.gain.may_be_nothing() ? ", may be nothing" : "",
                                one.option ? paceline::to_text(*one.option) : "together",
                                in_words(one.settings)));
    write_command(out, one.command);
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
  if (!advice.suggestions.empty()) {
    out << '\n';
    write_line(out,
               fmt::format("gain in samples/s and its 90% interval, from {} predicted variants:",
                           advice.predicted));
    write_suggestions(out, advice, false);
    write_suggestions(out, advice, true);
  } else if (advice.is_complete) {
    out << '\n';
    write_line(out, fmt::format("nothing gains more than {:.1f} % (of {} variants)",
                                100 * std::max(advice.most.value, 0.0), advice.predicted));
  }
  remarks_on(advice).write(out);
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
