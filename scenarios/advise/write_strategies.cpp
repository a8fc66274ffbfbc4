#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>
#include <set>

#include "models/units/parse.h"
#include "scenarios/advise/strategies.h"
#include "scenarios/remarks.h"
#include "scenarios/text_table.h"

namespace paceline::advise {
namespace {

using nlohmann::ordered_json;

std::string title_of(const StrategyComparison& comparison) {
  std::string title = comparison.scenario;
  for (const AxisValue& axis : comparison.axes) {
    title += fmt::format(", {} {}", axis.path.substr(axis.path.rfind('.') + 1), axis.text);
  }
  return title;
}

std::string gibibytes(Bytes size) {
  return fmt::format("{:.1f}GiB", static_cast<double>(size.value()) / (1ULL << 30));
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
  if (servers > 0) return fmt::format("{} more host{}", servers, servers == 1 ? "" : "s");
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
    cells.push_back(outcome.memory ? gibibytes(outcome.memory->total()) : "");
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

ordered_json strategy_json(const StrategyComparison::Row& row) {
  ordered_json json{{"strategy", row.strategy}};
  if (!row.attempt.outcome) {
    json["refused"] = row.attempt.refusal;
    return json;
  }
  const PointOutcome& outcome = *row.attempt.outcome;
  const StepTotals& totals = outcome.predicted->totals;
  json["refused"] = nullptr;
  json["gpus"] = outcome.gpus;
  json["step_s"] = totals.step.value();
  json["step_s_low"] = outcome.predicted->interval.low.value();
  json["step_s_high"] = outcome.predicted->interval.high.value();
  json["exposed_communication_s"] = totals.exposed_communication.value();
  json["speedup"] = outcome.predicted_speedup();
  json["memory_bytes"] =
      outcome.memory ? ordered_json(outcome.memory->total().value()) : ordered_json(nullptr);
  json["fits"] = !row.attempt.is_too_large();
  json["assumptions"] = outcome.assumptions;
  return json;
}

}  // namespace

void write_table(std::ostream& out, const std::vector<StrategyComparison>& comparisons) {
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

void write_json(std::ostream& out, const std::vector<StrategyComparison>& comparisons) {
  ordered_json list = ordered_json::array();
  for (const StrategyComparison& comparison : comparisons) {
    ordered_json rows = ordered_json::array(), axes = ordered_json::array();
    for (const auto& row : comparison.rows) rows.push_back(strategy_json(row));
    for (const AxisValue& axis : comparison.axes) {
      axes.push_back({{"path", axis.path}, {"value", axis.text}});
    }
    list.push_back({{"scenario", comparison.scenario},
                    {"axes", std::move(axes)},
                    {"strategies", std::move(rows)}});
  }
  const ordered_json all{{"schema", "paceline.strategies/1"},
                         {"complete", are_complete(comparisons)},
                         {"comparisons", std::move(list)}};
  out << all.dump(1, ' ', false, ordered_json::error_handler_t::replace) << '\n';
}

}  // namespace paceline::advise
