#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <utility>

#include "models/text/json_writer.h"
#include "models/text/number.h"
#include "models/units/parse.h"
#include "scenarios/advise/advise.h"
#include "scenarios/line_width.h"
#include "scenarios/predict/measure_next.h"
#include "scenarios/remarks.h"
#include "scenarios/text_table.h"

namespace paceline::advise {
namespace {

// How much a decision may change by a remark.
namespace weight {
constexpr int memory = 5, measure_next = 4, widest = 3, skew = 2, host = 1;
}  // namespace weight

void write_step(std::ostream& out, const Advice& advice) {
  const PointOutcome& outcome = advice.outcome;
  const Seconds step = outcome.predicted->totals.step;
  write_headline(out, fmt::format("{}, {}{}{}", advice.name, counted(outcome.gpus, "GPU"),
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

constexpr auto fields_of(const Gain*) {
  return Fields(field("throughput", &Gain::value), field("low", &Gain::low),
                field("high", &Gain::high));
}

constexpr auto fields_of(const Suggestion*) {
  return Fields(
      field("option", &Suggestion::option), field("alters_training", &Suggestion::alters_training),
      field("settings", [](const Suggestion& one) { return spelled(one.settings); }),
      field("command", &Suggestion::command),
      field("step_s", at<&Suggestion::outcome, &PointOutcome::step>),
      field("throughput_per_s", at<&Suggestion::outcome, &PointOutcome::predicted_throughput>),
      field("gain", &Suggestion::gain));
}

constexpr auto fields_of(const StepPart*) {
  return Fields(field("name", &StepPart::name), field("time_s", &StepPart::time));
}

constexpr auto fields_of(const ExposedCall*) {
  return Fields(field("name", &ExposedCall::name), field("size_bytes", &ExposedCall::size),
                field("in_flight_s", &ExposedCall::in_flight),
                field("exposed_s", &ExposedCall::exposed));
}

constexpr auto fields_of(const Limits*) {
  return Fields(field("by", &Limits::limit), field("parts", &Limits::parts),
                field("exposed_calls", &Limits::calls), field("calls", &Limits::call_count),
                field("compute_spread_s", &Limits::skew), field("memory_bytes", &Limits::memory),
                field("device_bytes", &Limits::device_memory));
}

constexpr auto fields_of(const Advice*) {
  return Fields(
      constant("schema", "paceline.advice/1"), field("complete", &Advice::is_complete),
      field("scenario", &Advice::path),
      field("settings", [](const Advice& one) { return spelled(one.point); }),
      field("gpus", at<&Advice::outcome, &PointOutcome::gpus>),
      field("step_s", at<&Advice::outcome, &PointOutcome::step>),
      field("step_s_low", at<&Advice::outcome, &PointOutcome::step_low>),
      field("step_s_high", at<&Advice::outcome, &PointOutcome::step_high>),
      field("throughput_per_s", at<&Advice::outcome, &PointOutcome::predicted_throughput>),
      field("speedup", at<&Advice::outcome, &PointOutcome::predicted_speedup>),
      field("limit", &Advice::limits), field("suggestions", &Advice::suggestions),
      field("most", &Advice::most), field("variants", &Advice::predicted));
}

void write_json(std::ostream& out, const Advice& advice) { JsonWriter(out).value(advice); }

}  // namespace paceline::advise
