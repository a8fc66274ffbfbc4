#include "scenarios/advise/advise.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <ostream>
#include <utility>

#include "models/text/json_writer.h"
#include "models/text/number.h"
#include "models/uncertain/covariance.h"
#include "models/units/parse.h"
#include "scenarios/errors.h"
#include "scenarios/import/shell_word.h"
#include "scenarios/outcome/step_terms.h"
#include "scenarios/predict/evidence.h"
#include "scenarios/predict/measure_next.h"
#include "scenarios/process/stop_request.h"
#include "scenarios/remarks.h"
#include "scenarios/text_form.h"
#include "scenarios/text_table.h"

namespace paceline::advise {
namespace {

std::string command_of(const std::string& path, const Settings& point, const Settings& changes) {
  // A change takes the place of the point's own value: a path may be set once.
  Settings all;
  for (const ScenarioFile::Setting& one : point) {
    if (std::ranges::find(changes, one.path, &ScenarioFile::Setting::path) == changes.end()) {
      all.push_back(one);
    }
  }
  all.insert(all.end(), changes.begin(), changes.end());
  std::string command = "paceline run " + shell_word(path);
  for (const ScenarioFile::Setting& one : all) {
    command += " --set " + shell_word(one.path + "=" + one.value);
  }
  return command;
}

// The measurement that tells most about a quantity.
std::string measurement_of(std::optional<uncertain::Unknown> quantity) {
  using uncertain::Unknown;
  switch (quantity.value_or(Unknown::wrapper)) {
    case Unknown::compute: return "a step of one GPU with this (workload.single_gpu_throughput)";
    case Unknown::node_links: return "all_reduce_perf of 100 MB in a node (cluster.calibration)";
    case Unknown::network:
      return "all_reduce_perf of 100 MB between two nodes (cluster.calibration)";
    case Unknown::wrapper:
    case Unknown::host:
    case Unknown::overlap: return "a minute of training as it is and with this";
  }
  PACELINE_UNREACHABLE("a quantity outside the enumeration");
}

class Adviser {
 public:
  explicit Adviser(Variants& variants) : variants_(variants), as_it_is_(variants.as_it_is()) {}

  // Whether nothing is missing; else of what was predicted until it was stopped.
  [[nodiscard]] bool advise(Advice& advice) {
    const bool is_complete = predict_all();
    for (const auto& [option, word] : words_of(Option{})) {
      for (std::size_t axis = 0; axis < as_it_is_.size(); ++axis) {
        const Choice best = best_of(option, axis);
        if (best != as_it_is_) take(suggested(best, option, advice), advice);
      }
    }
    for (const auto& best : {best_as_it_trains_, best_of_all_}) {
      const bool is_new = changes_several(best) && best != last_;
      if (is_new) take(suggested(best, std::nullopt, advice), advice);
      last_ = best;
    }
    return is_complete;
  }

 private:
  bool predict_all() {
    try {
      variants_.predict(single_changes(), 0);
      best_as_it_trains_ = search(variants_, as_it_is_, axes_to_try(false));
      best_of_all_ = search(variants_, as_it_is_, axes_to_try(true));
      return true;
    } catch (const Stopped&) {
      best_as_it_trains_ = best_predicted(false);
      best_of_all_ = best_predicted(true);
      return false;
    }
  }

  // Other strategies last: who stops it soon wants to know of the own one's settings.
  [[nodiscard]] std::vector<Choice> single_changes() const {
    std::vector<Choice> changes;
    for (std::size_t axis = as_it_is_.size(); axis-- > 0;) {
      Choice changed = as_it_is_;
      while (++changed[axis] < variants_.axes()[axis].size()) changes.push_back(changed);
    }
    return changes;
  }

  // All axes, or those that leave training as it is.
  [[nodiscard]] std::vector<std::size_t> axes_to_try(bool may_alter_training) const {
    std::vector<std::size_t> along;
    for (std::size_t axis = 0; axis < as_it_is_.size(); ++axis) {
      const bool alters = alters_training(variants_.axes()[axis].front().option);
      if (may_alter_training || !alters) along.push_back(axis);
    }
    return along;
  }

  // The best candidate of one option on an axis, the rest as it is.
  [[nodiscard]] Choice best_of(Option option, std::size_t axis) const {
    Choice best = as_it_is_;
    double throughput = 0;
    const SearchAxis& candidates = variants_.axes()[axis];
    for (std::size_t candidate = 1; candidate < candidates.size(); ++candidate) {
      if (candidates[candidate].option != option) continue;
      Choice tried = as_it_is_;
      tried[axis] = candidate;
      if (variants_.throughput_of(tried) <= throughput) continue;
      throughput = variants_.throughput_of(tried);
      best = tried;
    }
    return best;
  }

  [[nodiscard]] Choice best_predicted(bool may_alter_training) const {
    Choice best = as_it_is_;
    for (const auto& [choice, made] : variants_.all()) {
      if (alters(choice) && !may_alter_training) continue;
      if (variants_.throughput_of(choice) > variants_.throughput_of(best)) best = choice;
    }
    return best;
  }

  [[nodiscard]] bool changes(const Choice& choice, bool (*is_one)(Option)) const {
    for (std::size_t axis = 0; axis < choice.size(); ++axis) {
      if (choice[axis] != 0 && is_one(variants_.axes()[axis][choice[axis]].option)) return true;
    }
    return false;
  }
  [[nodiscard]] bool alters(const Choice& choice) const { return changes(choice, alters_training); }
  [[nodiscard]] bool changes_several(const Choice& choice) const {
    return std::ranges::count(choice, 0U) + 1 < static_cast<std::ptrdiff_t>(choice.size());
  }

  [[nodiscard]] Suggestion suggested(const Choice& choice, std::optional<Option> option,
                                     const Advice& advice) const {
    Suggestion made;
    made.option = option;
    made.settings = variants_.settings_of(choice);
    made.command = command_of(advice.path, advice.point, made.settings);
    made.outcome = *variants_.find(choice)->outcome;
    made.alters_training = alters(choice);
    const auto is_strategy = [](Option one) { return one == Option::strategy; };
    made.gain = gain_of(advice.outcome, made.outcome, changes(choice, is_strategy));
    if (made.gain.may_be_nothing()) made.measure = measurement_of(made.gain.hangs_on);
    return made;
  }

  static void take(Suggestion made, Advice& advice) {
    if (made.gain.value > advice.most.value) advice.most = made.gain;
    if (made.gain.is_worth_it()) advice.suggestions.push_back(std::move(made));
  }

  Variants& variants_;
  Choice as_it_is_, best_as_it_trains_, best_of_all_, last_;
};

// How much a decision may change by a remark.
namespace weight {
constexpr int memory = 5, measure_next = 4, widest = 3, skew = 2, host = 1;
}  // namespace weight

void write_step(std::ostream& out, const Advice& advice) {
  const PointOutcome& outcome = advice.outcome;
  const Seconds step = outcome.predicted->totals.step;
  write_headline(out,
                 fmt::format("{}, {}{}{}", advice.name, counted(outcome.gpus, "GPU"),
                             advice.point.empty() ? "" : ": ", in_words(advice.point)),
                 {outcome.losses ? losses_in_words(outcome) : ""});
  write_line(out, fmt::format("step {} ({} to {}), {} samples/s, speedup {:.2f}; limited by {}",
                              to_text(step), to_text(outcome.predicted->interval.low),
                              to_text(outcome.predicted->interval.high),
                              in_digits(outcome.predicted_throughput()),
                              outcome.predicted_speedup(), advice.limits.by));
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
  remarks.add(weight::widest, found.widest);
  remarks.add(weight::measure_next, found.next);
  if (advice.limits.skew > Seconds(0)) {
    remarks.add(weight::skew, fmt::format("ranks: compute differs by {} between them",
                                          to_text(advice.limits.skew)));
  }
  if (outcome.memory && outcome.device_memory) {
    remarks.add(weight::memory, fmt::format("memory: {} per GPU{}", memory_text(outcome),
                                            outcome.is_too_large() ? "; does not fit" : ""));
  } else {
    remarks.add(weight::memory, "memory: not known");
  }
  const Seconds launches = advice.limits.launches;
  if (launches > Seconds(0)) {
    remarks.add(weight::host,
                fmt::format("host: kernel launches take {} of the step (training.host)",
                            to_text(launches)));
  } else {
    remarks.add(weight::host,
                "host: kernels hide their launches; what a wrapper's hooks take counts only where "
                "training.host gives it, so small models may be slower than predicted");
  }
  add_calls(remarks, advice.limits);
  remarks.assume(outcome.assumptions);
  return remarks;
}

std::string percent(double part) { return fmt::format("{:+.1f}%", 100 * part); }

// Whether a quantity of two points of one machine is one number.
bool is_shared(uncertain::Unknown quantity, const Prediction& one, const Prediction& other) {
  const uncertain::Place &here = one.response.place, &there = other.response.place;
  const auto covariance = [&](const uncertain::Place& a, const uncertain::Place& b) {
    return uncertain::covariance(one.belief.priors(), quantity, a, b, true);
  };
  return covariance(here, there) > 0 || covariance(here, here) == 0;
}

// Writes a command on one line, so that it can be pasted.
void write_command(std::ostream& out, const std::string& command) {
  if (text_form(out).is_markdown) return write_line(out, "  " + command);
  out << "    " << command << '\n';
}

std::string change_in_words(const Suggestion& one) {
  return fmt::format("{}: {}", one.option ? paceline::to_text(*one.option) : "together",
                     in_words(one.settings));
}

std::string gain_in_words(const Gain& gain) {
  return fmt::format("{} ({} to {})", percent(gain.value), percent(gain.low), percent(gain.high));
}

void write_gains(std::ostream& out, const Advice& advice, bool altering) {
  bool is_first = true;
  for (const Suggestion& one : advice.suggestions) {
    if (one.alters_training != altering || one.gain.may_be_nothing()) continue;
    if (std::exchange(is_first, false)) {
      out << '\n';
      write_line(out, altering
                          ? "changes training (rounds numbers, or makes a step's batch larger):"
                          : "leaves training as it is:");
    }
    write_line(out, fmt::format("  {}  {}", gain_in_words(one.gain), change_in_words(one)));
    write_command(out, one.command);
  }
}

// What may gain nothing, by what is to be measured before anyone knows.
void write_questions(std::ostream& out, const Advice& advice) {
  std::vector<std::string> measurements;
  for (const Suggestion& one : advice.suggestions) {
    const bool is_new = std::ranges::find(measurements, one.measure) == measurements.end();
    if (one.gain.may_be_nothing() && is_new) measurements.push_back(one.measure);
  }
  for (const std::string& measurement : measurements) {
    out << '\n';
    write_line(out, fmt::format("may gain nothing; measure first: {}:", measurement));
    for (const Suggestion& one : advice.suggestions) {
      if (!one.gain.may_be_nothing() || one.measure != measurement) continue;
      write_line(out, fmt::format("  {}{}: {}?", change_in_words(one),
                                  one.alters_training ? " (changes training)" : "",
                                  gain_in_words(one.gain)));
      write_command(out, one.command);
    }
  }
}

}  // namespace

Limits limits_of(const PointOutcome& outcome) {
  const Prediction& predicted = *outcome.predicted;
  const Seconds step = predicted.totals.step;
  const Timeline timeline =
      timeline_of(predicted.trace, predicted.alone->point.cluster.gpus_per_node);
  const StepTerms terms = terms_of(outcome, timeline);
  Limits limits;
  if (outcome.memory) limits.memory = outcome.memory->total();
  limits.device_memory = outcome.device_memory;
  limits.launches = terms.launches;
  std::map<TermKind, Seconds> times;
  for (const StepTerm& term : terms.terms) {
    times[term.part] += term.time;
    if (term.part != TermKind::exposed_call) continue;
    const training::Operation& call = predicted.trace.program.operations[term.operation];
    const training::Interval& ran = timeline.members->intervals[term.operation];
    limits.calls.push_back({call.name, call_of(call)->size(), ran.end - ran.start, term.time});
  }
  limits.call_count = limits.calls.size() + terms.hidden_calls;
  constexpr double shown_from = 1e-6, lost_from = 0.01;  // of the step; less is rounding, nothing
  if (predicted.compute_spread > step * shown_from) limits.skew = predicted.compute_spread;
  for (const auto& [kind, time] : times) {
    if (std::abs(time / step) > shown_from) {
      limits.parts.push_back({std::string(to_text(kind)), time});
    }
  }
  const auto longest_first = [](const auto& a, const auto& b) { return a > b; };
  std::ranges::stable_sort(limits.parts, longest_first, &StepPart::time);
  std::ranges::stable_sort(limits.calls, longest_first, &ExposedCall::exposed);
  const bool loses = outcome.losses && outcome.losses->all() > step * lost_from;
  limits.by = loses ? to_text(outcome.losses->parts.front().kind) : "one GPU's step";
  return limits;
}

Gain gain_of(const PointOutcome& before, const PointOutcome& after, bool is_another_strategy) {
  const double ratio = after.predicted_throughput() / before.predicted_throughput();
  const uncertain::Believed& was = before.predicted->believed;
  const uncertain::Believed& is = after.predicted->believed;
  double up = 0, down = 0;  // squares of logarithms
  const auto add = [&](double moved) { (moved > 0 ? up : down) += moved * moved; };
  Gain gain{.value = ratio - 1};
  double most = 0;
  for (std::size_t q = 0; q < uncertain::quantities; ++q) {
    const double down_before = down;
    if (is_shared(uncertain::unknown_of(q), *before.predicted, *after.predicted)) {
      const double low = was.lows[q] - is.lows[q], high = was.highs[q] - is.highs[q];
      add(std::max({low, high, 0.0}));
      add(std::min({low, high, 0.0}));
    } else {
      add(std::hypot(was.highs[q], is.lows[q]));
      add(-std::hypot(was.lows[q], is.highs[q]));
    }
    if (down - down_before <= most) continue;
    most = down - down_before;
    gain.hangs_on = uncertain::unknown_of(q);
  }
  if (is_another_strategy) {
    const double rest = std::hypot(was.rest_low, is.rest_high);
    add(std::hypot(was.rest_high, is.rest_low));
    add(-rest);
    if (rest * rest > most) gain.hangs_on.reset();
  }
  gain.low = ratio * std::exp(-std::sqrt(down)) - 1;
  gain.high = ratio * std::exp(std::sqrt(up)) - 1;
  return gain;
}

Advice advise(const std::string& path, const Settings& settings, const std::string& point,
              Strategies strategies, const RunOptions& options) {
  const ProgressEnd end(options.progress);
  if (options.progress) options.progress({.of = "variants", .doing = "the scenario as it is"});
  Advice advice;
  advice.path = path;
  RunOptions with_belief = options;
  with_belief.belief = belief_of(path, settings, options);
  advice.point = ScenarioFile::read(path, settings).settings_of(point);
  const auto read = [&] { return ScenarioFile::read(path, advice.point); };
  RunOptions with_trace = with_belief;
  with_trace.keep_traces = true;
  const ScenarioFile file = read();
  advice.name = file.name();
  Attempt base = attempt(read, with_trace);
  if (!base.outcome) throw InputError({path}, "the strategy " + base.refusal, "");
  advice.limits = limits_of(*base.outcome);
  base.outcome->predicted->drop_trace();
  advice.outcome = *base.outcome;
  Variants variants(path, advice.point, options_of(file.scenario(0), strategies), with_belief);
  variants.take_as_it_is(std::move(base));
  advice.is_complete = Adviser(variants).advise(advice);
  std::ranges::stable_sort(advice.suggestions, [](const Suggestion& a, const Suggestion& b) {
    return a.gain.value > b.gain.value;
  });
  advice.predicted = variants.all().size();
  return advice;
}

void write_text(std::ostream& out, const Advice& advice) {
  write_step(out, advice);
  if (!advice.suggestions.empty()) {
    out << '\n';
    write_line(out,
               fmt::format("gain in samples/s and its 90% interval, from {} predicted variants{}:",
                           advice.predicted, advice.is_complete ? "" : " (unfinished)"));
    for (const bool altering : {false, true}) write_gains(out, advice, altering);
    write_questions(out, advice);
  } else {
    out << '\n';
    write_line(out, fmt::format("nothing gains more than {:.1f} % (of {} variants{})",
                                100 * std::max(advice.most.value, 0.0), advice.predicted,
                                advice.is_complete ? "" : "; unfinished"));
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
      field("gain", &Suggestion::gain), field("measure_first", unless_empty<&Suggestion::measure>));
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
  return Fields(field("by", &Limits::by), field("parts", &Limits::parts),
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
