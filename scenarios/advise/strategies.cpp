#include "scenarios/advise/strategies.h"

#include <algorithm>

#include "models/training/strategy.h"

namespace paceline::advise {
namespace {

constexpr std::string_view strategy_path = "training.strategy";

// The file with one value of each axis; `settings` come first, the strategy last.
Attempt with_strategy(const std::string& path, const Settings& settings,
                      const std::vector<AxisValue>& axes, std::string_view strategy,
                      const RunOptions& options) {
  Settings all = settings;
  for (const AxisValue& axis : axes) all.push_back({axis.path, axis.text});
  all.push_back({std::string(strategy_path), std::string(strategy)});
  return attempt([&] { return ScenarioFile::read(path, all); }, options);
}

StrategyComparison compared(const std::string& path, const Settings& settings,
                            const ScenarioFile& file, std::vector<AxisValue> axes,
                            const RunOptions& options) {
  StrategyComparison made{file.name(), std::move(axes), {}};
  for (const training::Strategy* strategy : training::strategies()) {
    if (strategy->replays_trace) continue;
    made.rows.push_back(
        {strategy->name, with_strategy(path, settings, made.axes, strategy->name, options)});
  }
  return made;
}

}  // namespace

std::vector<StrategyComparison> compare_strategies(const std::string& path,
                                                   const Settings& settings,
                                                   const RunOptions& options) {
  const ScenarioFile file = ScenarioFile::read(path, settings);
  std::vector<StrategyComparison> comparisons;
  std::vector<std::vector<AxisValue>> seen;
  for (std::vector<AxisValue> axes : file.points()) {
    std::erase_if(axes, [](const AxisValue& axis) { return axis.path == strategy_path; });
    const bool is_known = std::ranges::any_of(comparisons, [&](const StrategyComparison& one) {
      return std::ranges::equal(one.axes, axes, {}, &AxisValue::text, &AxisValue::text);
    });
    if (!is_known) {
      comparisons.push_back(compared(path, settings, file, std::move(axes), options));
    }
  }
  return comparisons;
}

}  // namespace paceline::advise
