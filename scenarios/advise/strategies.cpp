#include "scenarios/advise/strategies.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <ostream>
#include <ranges>
#include <set>

#include "models/text/json_writer.h"
#include "models/text/number.h"
#include "models/training/strategy.h"
#include "models/units/parse.h"
#include "scenarios/predict/evidence.h"
#include "scenarios/process/stop_request.h"
#include "scenarios/remarks.h"
#include "scenarios/text_table.h"

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
  const auto belief = belief_of(path, settings, options);
  const ScenarioFile file = ScenarioFile::read(path, without_known(settings));
  const std::size_t others = points.size();
  for (std::size_t point = 0; point < file.point_count(); ++point) {
    std::vector<AxisValue> axes = file.axes_of(point);
    std::erase_if(axes, [](const AxisValue& axis) { return axis.path == strategy_path; });
    const bool is_known =
        std::ranges::any_of(points | std::views::drop(others), [&](const Compared& one) {
          return std::ranges::equal(one.comparison.axes, axes, {}, &AxisValue::text,
                                    &AxisValue::text);
        });
    if (!is_known) points.push_back({path, belief, {file.name(), std::move(axes), {}}});
  }
}

std::string title_of(const StrategyComparison& comparison) {
  std::string title = comparison.scenario;
  for (const AxisValue& axis : comparison.axes) {
    title += fmt::format(", {} {}", axis.path.substr(axis.path.rfind('.') + 1), axis.text);
  }
  return title;
}

// Of those that need no machines beside the nodes.
bool is_fastest(const StrategyComparison& comparison, const Attempt& one) {
  for (const auto& [strategy, other] : comparison.rows) {
    if (other.outcome && other.outcome->servers == 0 && !other.is_too_large() &&
        other.outcome->predicted_throughput() > one.outcome->predicted_throughput()) {
      return false;
    }
  }
  return true;
}

std::string remark_on(const StrategyComparison& comparison, const Attempt& attempt) {
  if (!attempt.outcome) return "refused";
  if (attempt.is_too_large()) return "too large";
  const std::uint32_t servers = attempt.outcome->servers;
  if (servers > 0) return counted(servers, "more host");
  return comparison.is_complete && is_fastest(comparison, attempt) ? "fastest" : "";
}

std::vector<std::string> strategy_row(const StrategyComparison& comparison,
                                      const StrategyComparison::Row& row) {
  std::vector<std::string> cells{title_of(comparison), std::string(row.strategy)};
  if (row.attempt.outcome) {
    const PointOutcome& outcome = *row.attempt.outcome;
    const StepTotals& totals = outcome.predicted->totals;
    cells.push_back(std::to_string(outcome.gpus));
    cells.push_back(to_text(totals.step));
    cells.push_back(fmt::format("{} to {}", to_text(outcome.predicted->interval.low),
                                to_text(outcome.predicted->interval.high)));
    cells.push_back(to_text(totals.exposed_communication));
    cells.push_back(fmt::format("{:.2f}", outcome.predicted_speedup()));
    cells.push_back(outcome.memory ? in_gibibytes(outcome.memory->total()) : "");
  } else {
    cells.resize(cells.size() + 6);
  }
  cells.push_back(remark_on(comparison, row.attempt));
  return cells;
}

// How much a decision may change by a remark.
constexpr int too_large_weight = 2, refused_weight = 1;

// Why rows have no prediction, or one that does not fit, each reason once; and what is assumed.
Remarks remarks_on(const std::vector<StrategyComparison>& comparisons) {
  std::set<std::string> reasons;
  Remarks remarks;
  for (const StrategyComparison& comparison : comparisons) {
    for (const auto& [strategy, attempt] : comparison.rows) {
      std::string reason;
      int weight = refused_weight;
      if (!attempt.outcome) {
        reason = fmt::format("refused: {} {}", strategy, attempt.refusal);
      } else if (attempt.is_too_large()) {
        weight = too_large_weight;
        reason = fmt::format("too large: {}, {}: {} per GPU", title_of(comparison), strategy,
                             memory_text(*attempt.outcome));
      }
      if (!reason.empty() && reasons.insert(reason).second) remarks.add(weight, reason);
      if (attempt.outcome) remarks.assume(attempt.outcome->assumptions);
    }
  }
  return remarks;
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

void write_text(std::ostream& out, const std::vector<StrategyComparison>& comparisons) {
  TextTable table({"scenario", "strategy", "gpus", "step", "90% interval", "exposed comm",
                   "speedup", "memory", ""},
                  2);
  for (const StrategyComparison& comparison : comparisons) {
    for (const auto& row : comparison.rows) {
      table.add(strategy_row(comparison, row));
      if (!row.attempt.outcome) continue;
      const PointOutcome& outcome = *row.attempt.outcome;
      table.add_bar("efficiency", outcome.predicted_speedup() / outcome.gpus);
    }
  }
  table.write(out);
  remarks_on(comparisons).write(out);
}

template <auto... members>
constexpr auto predicted = at<&StrategyComparison::Row::attempt, &Attempt::outcome, members...>;

constexpr auto fields_of(const StrategyComparison::Row*) {
  using Row = StrategyComparison::Row;
  constexpr auto refused = [](const Row& row) {
    return row.attempt.outcome ? std::nullopt : std::optional(row.attempt.refusal);
  };
  // null where nobody tells it
  constexpr auto memory = [](const Row& row) {
    const auto total = predicted<&PointOutcome::memory, &training::GpuMemory::total>(row);
    return row.attempt.outcome ? std::make_optional(total) : std::nullopt;
  };
  constexpr auto fits = [](const Row& row) {
    return row.attempt.outcome ? std::optional(!row.attempt.is_too_large()) : std::nullopt;
  };
  return Fields(
      field("strategy", &Row::strategy), field("refused", refused),
      optional_field("gpus", predicted<&PointOutcome::gpus>),
      optional_field("step_s", predicted<&PointOutcome::step>),
      optional_field("step_s_low", predicted<&PointOutcome::step_low>),
      optional_field("step_s_high", predicted<&PointOutcome::step_high>),
      optional_field("exposed_communication_s", predicted<&PointOutcome::exposed_communication>),
      optional_field("speedup", predicted<&PointOutcome::predicted_speedup>),
      optional_field("memory_bytes", memory), optional_field("fits", fits),
      optional_field("assumptions", predicted<&PointOutcome::assumptions>));
}

void write_json(std::ostream& out, const std::vector<StrategyComparison>& comparisons) {
  JsonWriter json(out);
  const auto write_axis = [&](const AxisValue& axis) {
    json.object([&] { json.put("path", axis.path), json.put("value", axis.text); });
  };
  json.object([&] {
    json.put("schema", "paceline.strategies/1");
    json.put("complete", are_complete(comparisons));
    json.put_list("comparisons", comparisons, [&](const StrategyComparison& one) {
      json.object([&] {
        json.put("scenario", one.scenario);
        json.put_list("axes", one.axes, write_axis);
        json.put("strategies", one.rows);
      });
    });
  });
}

}  // namespace paceline::advise
