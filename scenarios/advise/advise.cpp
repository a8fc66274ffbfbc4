#include "scenarios/advise/advise.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "scenarios/errors.h"
#include "scenarios/import/shell_word.h"
#include "scenarios/predict/evidence.h"
#include "scenarios/process/stop_request.h"

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

// The settings, and one value of each axis of the sweep. What is known of other points is none of
// it.
Settings point_of(const std::string& path, const Settings& settings,
                  std::optional<std::uint32_t> gpus) {
  Settings point = without_known(settings);
  if (gpus) point.push_back({"gpus", std::to_string(*gpus)});
  const ScenarioFile file = ScenarioFile::read(path, point);
  if (file.point_count() == 1) return point;
  for (const ScenarioFile::Axis& axis : file.axes()) {
    const AxisValue& value = axis.path == "gpus" ? axis.values.back() : axis.values.front();
    point.push_back({axis.path, value.text});
  }
  return point;
}

class Adviser {
 public:
  explicit Adviser(Variants& variants)
      : variants_(variants), as_it_is_(variants.axes().size(), 0) {}

  [[nodiscard]] Suggestion suggested(const Choice& choice, std::optional<Option> option,
                                     const Advice& advice) {
    Suggestion made;
    made.option = option;
    made.settings = variants_.settings_of(choice);
    made.command = command_of(advice.path, advice.point, made.settings);
    made.outcome = *variants_.of(choice).outcome;
    bool is_another_strategy = false;
    for (std::size_t axis = 0; axis < choice.size(); ++axis) {
      if (choice[axis] == 0) continue;
      const Option changed = variants_.axes()[axis][choice[axis]].option;
      made.alters_training = made.alters_training || alters_training(changed);
      is_another_strategy = is_another_strategy || changed == Option::strategy;
    }
    made.gain = gain_of(advice.outcome, made.outcome, is_another_strategy);
    return made;
  }

  // The best candidate of one option, the rest as it is.
  [[nodiscard]] Choice best_of(Option option) {
    Choice best = as_it_is_;
    double throughput = 0;
    for (std::size_t axis = 0; axis < as_it_is_.size(); ++axis) {
      for (std::size_t candidate = 1; candidate < variants_.axes()[axis].size(); ++candidate) {
        if (variants_.axes()[axis][candidate].option != option) continue;
        Choice tried = as_it_is_;
        tried[axis] = candidate;
        if (variants_.throughput_of(tried) <= throughput) continue;
        throughput = variants_.throughput_of(tried);
        best = tried;
      }
    }
    return best;
  }

  // Of all axes, or of those that leave training as it is.
  [[nodiscard]] Choice best_together(bool may_alter_training) {
    std::vector<std::size_t> along;
    for (std::size_t axis = 0; axis < as_it_is_.size(); ++axis) {
      const bool alters = alters_training(variants_.axes()[axis].front().option);
      if (may_alter_training || !alters) along.push_back(axis);
    }
    return search(variants_, as_it_is_, along);
  }

  [[nodiscard]] bool changes_several(const Choice& choice) const {
    return std::ranges::count(choice, 0U) + 1 < static_cast<std::ptrdiff_t>(choice.size());
  }

  // Throws Stopped; the advice then has what was found by then.
  void advise(Advice& advice) {
    for (const auto& [option, word] : words_of(Option{})) {
      const Choice best = best_of(option);
      if (best != as_it_is_) take(suggested(best, option, advice), advice);
    }
    for (const bool may_alter_training : {false, true}) {
      const Choice best = best_together(may_alter_training);
      const bool is_new = changes_several(best) && best != last_;
      if (is_new) take(suggested(best, std::nullopt, advice), advice);
      last_ = best;
    }
  }

 private:
  static void take(Suggestion made, Advice& advice) {
    if (made.gain.value > advice.most.value) advice.most = made.gain;
    if (made.gain.is_worth_it()) advice.suggestions.push_back(std::move(made));
  }

  Variants& variants_;
  Choice as_it_is_, last_;
};

}  // namespace

Gain gain_of(const PointOutcome& before, const PointOutcome& after, bool is_another_strategy) {
  const double ratio = after.predicted_throughput() / before.predicted_throughput();
  const uncertain::Believed& was = before.predicted->believed;
  const uncertain::Believed& is = after.predicted->believed;
  double up = 0, down = 0;  // squares of logarithms
  const auto add = [&](double moved) { (moved > 0 ? up : down) += moved * moved; };
  // The step before grows by one, the one after by the other; either end of each quantity, as the
  // machine is the same.
  for (std::size_t q = 0; q < uncertain::quantities; ++q) {
    const double low = was.lows[q] - is.lows[q], high = was.highs[q] - is.highs[q];
    add(std::max({low, high, 0.0}));
    add(std::min({low, high, 0.0}));
  }
  if (is_another_strategy) {
    add(std::hypot(was.rest_high, is.rest_low));
    add(-std::hypot(was.rest_low, is.rest_high));
  }
  return {ratio - 1, ratio * std::exp(-std::sqrt(down)) - 1, ratio * std::exp(std::sqrt(up)) - 1};
}

Advice advise(const std::string& path, const Settings& settings, std::optional<std::uint32_t> gpus,
              const RunOptions& options) {
  const ProgressEnd end(options.progress);
  Advice advice;
  advice.path = path;
  RunOptions with_belief = options;
  with_belief.belief = belief_of(ScenarioFile::read(path, settings), options);
  advice.point = point_of(path, settings, gpus);
  const auto read = [&] { return ScenarioFile::read(path, advice.point); };
  RunOptions with_trace = with_belief;
  with_trace.keep_traces = true;
  const ScenarioFile file = read();
  advice.name = file.name();
  Attempt base = attempt(read, with_trace);
  if (!base.outcome) throw InputError({path, 0, 0}, "the strategy " + base.refusal, "");
  advice.outcome = *base.outcome;
  advice.limits = limits_of(advice.outcome);
  Variants variants(path, advice.point, options_of(file.scenario(0)), with_belief);
  try {
    Adviser(variants).advise(advice);
    advice.is_complete = true;
  } catch (const Stopped&) {
  }
  std::ranges::stable_sort(advice.suggestions, [](const Suggestion& a, const Suggestion& b) {
    return a.gain.value > b.gain.value;
  });
  advice.predicted = variants.predicted();
  return advice;
}

}  // namespace paceline::advise
