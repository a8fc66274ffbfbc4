#include "scenarios/advise/strategies.h"

#include <algorithm>
#include <memory>

#include "models/training/strategy.h"
#include "scenarios/predict/evidence.h"
#include "scenarios/process/stop_request.h"

namespace paceline::advise {
namespace {

constexpr std::string_view strategy_path = "training.strategy";

// The file with one value of each axis; `settings` come first, the strategy last.
Attempt with_strategy(const std::string& path, const Settings& settings,
                      const std::vector<AxisValue>& axes, std::string_view strategy,
                      const RunOptions& options) {
  Settings all = without_known(settings);
  for (const AxisValue& axis : axes) all.push_back({axis.path, axis.text});
  all.push_back({std::string(strategy_path), std::string(strategy)});
  return attempt([&] { return ScenarioFile::read(path, all); }, options);
}

// A point of a file, before any strategy is tried.
struct Compared {
  std::string path;
  std::shared_ptr<const uncertain::Belief> belief;  // of the file's machine
  StrategyComparison comparison;
};

std::vector<const training::Strategy*> strategies_to_try() {
  std::vector<const training::Strategy*> tried;
  for (const training::Strategy* strategy : training::strategies()) {
    if (!strategy->replays_trace) tried.push_back(strategy);
  }
  return tried;
}

void add_points(const std::string& path, const Settings& settings, const RunOptions& options,
                std::vector<Compared>& points) {
  const auto belief = belief_of(ScenarioFile::read(path, settings), options);
  const ScenarioFile file = ScenarioFile::read(path, without_known(settings));
  const std::size_t others = points.size();
  for (std::size_t point = 0; point < file.point_count(); ++point) {
    std::vector<AxisValue> axes = file.axes_of(point);
    std::erase_if(axes, [](const AxisValue& axis) { return axis.path == strategy_path; });
    const bool is_known =
        std::any_of(points.begin() + static_cast<std::ptrdiff_t>(others), points.end(),
                    [&](const Compared& one) {
                      return std::ranges::equal(one.comparison.axes, axes, {}, &AxisValue::text,
                                                &AxisValue::text);
                    });
    if (!is_known) points.push_back({path, belief, {file.name(), std::move(axes), {}}});
  }
}

}  // namespace

std::vector<StrategyComparison> compare_strategies(const std::vector<std::string>& paths,
                                                   const Settings& settings,
                                                   const RunOptions& options) {
  std::vector<Compared> points;
  for (const std::string& path : paths) add_points(path, settings, options, points);
  const auto tried = strategies_to_try();
  const ProgressEnd end(options.progress);
  std::vector<StrategyComparison> comparisons;
  try {
    for (auto& [path, belief, comparison] : points) {
      RunOptions with_belief = options;
      with_belief.belief = belief;
      StrategyComparison& made = comparisons.emplace_back(std::move(comparison));
      for (const training::Strategy* strategy : tried) {
        if (options.progress) {
          const std::size_t done = (comparisons.size() - 1) * tried.size() + made.rows.size();
          options.progress(
              {done, points.size() * tried.size(), "steps", std::string(strategy->name)});
        }
        made.rows.push_back({strategy->name, with_strategy(path, settings, made.axes,
                                                           strategy->name, with_belief)});
      }
      made.is_complete = true;
    }
  } catch (const Stopped&) {
    if (comparisons.front().rows.empty()) throw;
  }
  return comparisons;
}

bool are_complete(const std::vector<StrategyComparison>& comparisons) {
  return std::ranges::all_of(comparisons, &StrategyComparison::is_complete);
}

}  // namespace paceline::advise
