#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ostream>

#include "models/text/json_writer.h"
#include "models/text/number.h"
#include "models/units/parse.h"
#include "scenarios/explain/explanation.h"
#include "scenarios/predict/measure_next.h"
#include "scenarios/text_form.h"
#include "scenarios/text_table.h"

namespace paceline::explain {

namespace {

std::string percent(double part) { return fmt::format("{:+.1f}%", 100 * part); }

// What makes a step shorter is below 0.
std::string time_text(Seconds time) {
  return time < Seconds(0) ? "-" + to_text(Seconds(0) - time) : to_text(time);
}

void write_number(std::ostream& out, const Explanation& made) {
  const PointOutcome& outcome = made.outcome;
  const Prediction& predicted = *outcome.predicted;
  write_line(out, fmt::format("{}, {}{}{}", made.name, counted(outcome.gpus, "GPU"),
                              made.point.empty() ? "" : ": ", in_words(made.point)));
  out << '\n';
  write_line(
      out, fmt::format("step {} (90% interval {} to {}), {} samples/s, speedup {:.2f}",
                       to_text(predicted.totals.step), to_text(predicted.interval.low),
                       to_text(predicted.interval.high), in_digits(outcome.predicted_throughput()),
                       outcome.predicted_speedup()));
  if (outcome.measured) {
    write_line(out, fmt::format("measured {} samples/s: the prediction is {} of it",
                                in_digits(outcome.measured->throughput),
                                percent(*outcome.error_percent() / 100)));
  }
}

// Each source once, with the terms that have it.
void write_sources(std::ostream& out, const std::vector<Term>& terms) {
  out << "\nsources:\n";
  std::vector<std::string> written;
  for (const Term& term : terms) {
    if (std::ranges::find(written, term.source) != written.end()) continue;
    written.push_back(term.source);
    std::vector<std::string> names;
    for (const Term& other : terms) {
      if (other.source != term.source) continue;
      std::string name = other.is_call ? "exposed calls" : other.name;
      if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
    }
    write_line(out, fmt::format("  {}: {}", fmt::join(names, ", "), term.source));
  }
}

void write_terms(std::ostream& out, const Explanation& made) {
  write_line(out, fmt::format("\nThe step of rank {}, which ends last: these terms add up to it.",
                              made.rank.value()));
  TextTable table({"term", "formula", "time", "share"}, 2);
  Seconds sum;
  for (const Term& term : made.terms) {
    sum += term.time;
    table.add(
        {term.name, term.formula, time_text(term.time), fmt::format("{:.1f}%", 100 * term.share)});
  }
  table.add({"step", "", to_text(sum), "100.0%"});
  table.write(out);
  write_sources(out, made.terms);
}
std::string choice_text(const ExplainedCall& call) {
  std::string text = fmt::format("{}, chosen by {}", call.algorithm, call.chosen_by);
  if (call.chosen) {
    text += fmt::format(": {} {}", call.chosen->algorithm, to_text(call.chosen->time));
  }
  if (call.next)
    text += fmt::format(", next {} {}", call.next->algorithm, to_text(call.next->time));
  return text;
}

void write_parts(std::ostream& out, const ExplainedCall& call) {
  if (!call.parts) return;
  const CallParts& parts = *call.parts;
  write_line(out, fmt::format("    alone {}: bytes {}, latency {} in {} rounds, start {}",
                              to_text(parts.time), to_text(parts.bandwidth), to_text(parts.latency),
                              parts.rounds, to_text(parts.start)));
  if (parts.link) {
    write_line(out, fmt::format("    busiest link: {} of {}, shared by {}; its bytes take {}",
                                parts.link->name, to_text(parts.link->bandwidth),
                                parts.link->shared_by, to_text(parts.link->busy)));
  }
  if (call.held > Seconds(0)) {
    write_line(
        out, fmt::format("    contention: {} longer, {} times as long as alone", to_text(call.held),
                         factor_text((parts.time + call.held) / parts.time)));
  }
}

void write_call(std::ostream& out, const ExplainedCall& call) {
  write_line(out, fmt::format("  {}: {} of {}, exposed {}", call.name, to_text(call.collective),
                              to_text(call.size), to_text(call.exposed)));
  write_line(out,
             fmt::format("    ready at {}, starts at {} (waits for {}), ends at {}",
                         to_text(call.ready), to_text(call.start),
                         call.waited_for.empty() ? "nothing" : call.waited_for, to_text(call.end)));
  write_line(out, "    " + choice_text(call));
  write_parts(out, call);
}

// The longest exposed ones in the program's order; --json has all.
void write_calls(std::ostream& out, const std::vector<ExplainedCall>& calls) {
  if (calls.empty()) return;
  std::vector<const ExplainedCall*> shown;
  for (const ExplainedCall& call : calls) shown.push_back(&call);
  constexpr std::size_t calls_shown = 6;
  std::ranges::stable_sort(shown,
                           [](const auto* a, const auto* b) { return a->exposed > b->exposed; });
  shown.resize(std::min(shown.size(), calls_shown));
  std::ranges::sort(shown, {}, [](const auto* one) { return one->operation; });
  fmt::print(out, "\ncalls, {} of {}, the longest exposed:\n", shown.size(), calls.size());
  for (const ExplainedCall* call : shown) write_call(out, *call);
}

void write_without(std::ostream& out, const Explanation& made) {
  if (made.without.empty()) return;
  const Seconds step = made.outcome.predicted->totals.step;
  out << "\nThe step predicted again without one thing. These differences need not add up.\n";
  TextTable table({"without", "by", "step", "difference"}, 2);
  for (const Without& one : made.without) {
    const std::string by = one.settings.empty()
                               ? "the step that ran, scheduled again"
                               : fmt::format("{}", fmt::join(spelled(one.settings), " "));
    table.add({one.what, by, one.step ? to_text(*one.step) : "refused",
               one.step ? percent(*one.step / step - 1) : ""});
  }
  table.write(out);
  for (const Without& one : made.without) {
    if (!one.step) write_line(out, fmt::format("refused: {}: {}", one.what, one.refusal));
  }
}

void write_widths(std::ostream& out, const Explanation& made) {
  if (made.widths.empty()) return;
  out << "\nWhat makes the interval wide:\n";
  TextTable table({"quantity", "low", "high", "share"}, 1);
  for (const Width& one : made.widths) {
    table.add({one.quantity, percent(one.low), percent(one.high),
               fmt::format("{:.0f}%", 100 * one.share)});
  }
  table.write(out);
  const Sureness found = sureness_in_words({made.outcome});
  for (const std::string& line : {found.widest, found.next}) {
    if (!line.empty()) write_line(out, line);
  }
}

}  // namespace

void write_text(std::ostream& out, const Explanation& explanation) {
  write_number(out, explanation);
  write_terms(out, explanation);
  write_calls(out, explanation.calls);
  write_without(out, explanation);
  write_widths(out, explanation);
}

constexpr auto fields_of(const BusiestLink*) {
  return Fields(field("name", &BusiestLink::name), field("shared_by", &BusiestLink::shared_by),
                field("bandwidth_bytes_per_s", &BusiestLink::bandwidth),
                field("busy_s", &BusiestLink::busy));
}

constexpr auto fields_of(const CallParts*) {
  return Fields(field("time_s", &CallParts::time), field("start_s", &CallParts::start),
                field("latency_s", &CallParts::latency),
                field("bandwidth_s", &CallParts::bandwidth), field("rounds", &CallParts::rounds),
                field("busiest_link", &CallParts::link));
}

constexpr auto fields_of(const ExplainedCall*) {
  using Call = ExplainedCall;
  return Fields(field("name", &Call::name), field("collective", &Call::collective),
                field("size_bytes", &Call::size), field("group", &Call::group),
                field("algorithm", &Call::algorithm), field("chosen_by", &Call::chosen_by),
                field("chosen", &Call::chosen), field("next", &Call::next),
                field("ready_s", &Call::ready), field("start_s", &Call::start),
                field("joined_s", &Call::joined), field("end_s", &Call::end),
                field("waited_for", unless_empty<&Call::waited_for>),
                field("exposed_s", &Call::exposed), field("together_s", &Call::together),
                field("held_s", &Call::held), field("alone", &Call::parts));
}

constexpr auto fields_of(const Without*) {
  constexpr auto refused = [](const Without& one) {
    return one.step ? std::nullopt : std::optional(one.refusal);
  };
  return Fields(field("what", &Without::what),
                field("settings", [](const Without& one) { return spelled(one.settings); }),
                field("step_s", &Without::step), field("refused", refused));
}

constexpr auto fields_of(const Width*) {
  return Fields(field("quantity", &Width::quantity), field("low", &Width::low),
                field("high", &Width::high), field("share", &Width::share));
}

constexpr auto fields_of(const Term*) {
  return Fields(field("name", &Term::name), field("time_s", &Term::time),
                field("share", &Term::share), field("formula", &Term::formula),
                field("source", &Term::source));
}

constexpr auto fields_of(const Explanation*) {
  return Fields(
      constant("schema", "paceline.explanation/1"), field("scenario", &Explanation::path),
      field("settings", [](const Explanation& made) { return spelled(made.point); }),
      field("gpus", at<&Explanation::outcome, &PointOutcome::gpus>),
      field("step_s", at<&Explanation::outcome, &PointOutcome::step>),
      field("step_s_low", at<&Explanation::outcome, &PointOutcome::step_low>),
      field("step_s_high", at<&Explanation::outcome, &PointOutcome::step_high>),
      field("throughput_per_s", at<&Explanation::outcome, &PointOutcome::predicted_throughput>),
      field("speedup", at<&Explanation::outcome, &PointOutcome::predicted_speedup>),
      field("rank", &Explanation::rank), field("terms", &Explanation::terms),
      field("calls", &Explanation::calls), field("without", &Explanation::without),
      field("interval", &Explanation::widths));
}

void write_json(std::ostream& out, const Explanation& made) { JsonWriter(out).value(made); }

}  // namespace paceline::explain
