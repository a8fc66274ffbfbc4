#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/text/number.h"
#include "models/units/parse.h"
#include "scenarios/errors.h"
#include "scenarios/explain/explanation.h"
#include "scenarios/explain/formulas.h"
#include "scenarios/predict/evidence.h"
#include "scenarios/predict/run_scenario.h"
#include "scenarios/prepare/resolve.h"

namespace paceline::explain {
namespace {

using uncertain::Unknown;

// The settings, and one value of each axis. What is known of other points is none of it.
Settings settings_of_point(const ScenarioFile& file, const Settings& settings,
                           const std::string& named) {
  const std::size_t point = named.empty() ? file.point_count() - 1 : file.point_named(named);
  Settings made = without_known(settings);
  for (const AxisValue& axis : file.axes_of(point)) made.push_back({axis.path, axis.text});
  return made;
}

class Teller {
 public:
  Teller(const ScenarioFile& file, Explanation& made)
      : sources_(file, made.point, made.outcome), made_(made) {}

  void tell(const StepTerms& terms) {
    const Formulas formulas(*made_.outcome.predicted, terms);
    std::vector<StepTerm> calls;
    for (const StepTerm& term : terms.terms) {
      if (term.part == Part::exposed_call) {
        calls.push_back(term);
        continue;
      }
      // Before what comes behind compute.
      if (term.part > Part::exposed_call && !calls.empty()) tell_calls(std::exchange(calls, {}));
      add(std::string(to_text(term.part)), term.time, formulas.of(term.part),
          sources_.of(term.part));
    }
    if (!calls.empty()) tell_calls(std::move(calls));
    if (terms.hidden_calls > 0) {
      add(counted(terms.hidden_calls, "hidden call"), Seconds(0), "compute goes on all the while",
          sources_.of(Part::idle));
    }
  }

 private:
  void add(std::string name, Seconds time, std::string formula, std::string source) {
    made_.terms.push_back({std::move(name), time, time / made_.outcome.step(), std::move(formula),
                           std::move(source)});
  }

  void tell_calls(std::vector<StepTerm> calls) {
    std::ranges::stable_sort(calls,
                             [](const StepTerm& a, const StepTerm& b) { return a.time > b.time; });
    Seconds others;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if (i >= call_terms_most) {
        others += calls[i].time;
        continue;
      }
      const auto call =
          std::ranges::find(made_.calls, calls[i].operation, &ExplainedCall::operation);
      add("exposed: " + call->name, calls[i].time, formula_of(*call), sources_.of_call(*call));
    }
    if (calls.size() <= call_terms_most) return;
    add(fmt::format("exposed: {} more calls", calls.size() - call_terms_most), others,
        "each less than those above", sources_.of(Part::exposed_call));
  }

  Sources sources_;
  Explanation& made_;
};

std::vector<Width> widths_of(const uncertain::Believed& believed) {
  std::vector<Width> widths;
  double all = 0;
  const auto add = [&](std::string quantity, double low, double high) {
    if (high - low <= 0) return;
    all += (high - low) * (high - low);
    widths.push_back(
        {std::move(quantity), std::expm1(low), std::expm1(high), (high - low) * (high - low)});
  };
  for (const auto& [quantity, words] : words_of(Unknown{})) {
    const auto q = static_cast<std::size_t>(quantity);
    add(std::string(words), believed.lows[q], believed.highs[q]);
  }
  add("the unexplained rest", believed.rest_low, believed.rest_high);
  for (Width& one : widths) one.share /= all;
  std::ranges::stable_sort(widths,
                           [](const Width& a, const Width& b) { return a.share > b.share; });
  return widths;
}

}  // namespace

Explanation explain(const std::string& path, const Settings& settings, const std::string& point,
                    const RunOptions& options) {
  const ProgressEnd end(options.progress);
  Explanation made;
  made.path = path;
  RunOptions with_belief = options;
  {
    const ScenarioFile file = ScenarioFile::read(path, settings);
    made.point = settings_of_point(file, settings, point);
    with_belief.belief = belief_of(file, options);
  }
  RunOptions with_trace = with_belief;
  with_trace.keep_traces = true;
  const auto read = [&] { return ScenarioFile::read(path, made.point); };
  const ScenarioFile file = read();
  made.name = file.name();
  Attempt attempted = attempt(read, with_trace);
  if (!attempted.outcome) {
    throw InputError({path}, "the strategy " + attempted.refusal, "");
  }
  made.outcome = std::move(*attempted.outcome);
  const Scenario scenario = file.scenario(0);
  const Timeline timeline =
      timeline_of(made.outcome.predicted->trace, scenario.cluster.gpus_per_node);
  made.calls = calls_of_step(scenario, made.outcome, timeline);
  const StepTerms terms = terms_of(made.outcome, timeline);
  made.rank = terms.rank;
  Teller(file, made).tell(terms);
  made.widths = widths_of(made.outcome.predicted->believed);
  made.without = without_each({path, made.point, scenario, made.outcome, made.calls}, with_belief);
  return made;
}

}  // namespace paceline::explain
