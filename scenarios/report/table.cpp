#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <ostream>

#include "models/stats/errors.h"
#include "models/units/parse.h"
#include "scenarios/report/assumptions.h"
#include "scenarios/report/report.h"
#include "scenarios/report/text_table.h"

namespace paceline {
namespace {

std::string last_part(const std::string& path) { return path.substr(path.rfind('.') + 1); }

std::string error_text(const PointOutcome& outcome) {
  const auto error = outcome.error_percent();
  if (!error) return "";
  if (outcome.gpus == 1) return "input";
  return fmt::format("{:+.1f}%{}", *error, outcome.measured->fitted ? " fitted" : "");
}

std::vector<std::string> row_of(const PointOutcome& outcome, bool has_measured, bool has_gpus) {
  std::vector<std::string> row;
  for (const AxisValue& axis : outcome.axes) row.push_back(axis.text);
  if (!has_gpus) row.push_back(std::to_string(outcome.gpus));
  if (outcome.predicted) {
    const StepTotals& totals = outcome.predicted->totals;
    row.push_back(to_text(totals.step));
    row.push_back(to_text(totals.exposed_communication));
    row.push_back(fmt::format("{:.1f}", outcome.predicted_throughput().value()));
  } else {
    row.insert(row.end(), {"failed", "", ""});
  }
  if (has_measured) {
    row.push_back(outcome.measured ? fmt::format("{:.1f}", outcome.measured->throughput.value())
                                   : "");
    row.push_back(error_text(outcome));
  }
  row.push_back(outcome.predicted ? fmt::format("{:.2f}", outcome.predicted_speedup()) : "");
  if (has_measured) {
    const auto speedup = outcome.measured_speedup();
    row.push_back(speedup ? fmt::format("{:.2f}", *speedup) : "");
  }
  return row;
}

void write_summary(std::ostream& out, const std::vector<PointOutcome>& outcomes) {
  std::vector<double> errors;
  for (const PointOutcome& outcome : outcomes) {
    if (outcome.counts()) errors.push_back(*outcome.error_percent());
  }
  if (errors.empty()) return;
  const auto summary = stats::summarise(errors);
  fmt::print(
      out,
      "\nerror of throughput over {} predicted point{}: mean {:.1f}%, max {:.1f}%, bias {:+.1f}%\n",
      summary.points, summary.points == 1 ? "" : "s", summary.mean_absolute, summary.max_absolute,
      summary.bias);
}

// What the predictions stand for, and what was solved for them.
void write_effort(std::ostream& out, const std::vector<PointOutcome>& outcomes) {
  double transfers = 0;
  std::uint64_t solves = 0;
  for (const PointOutcome& outcome : outcomes) {
    if (!outcome.predicted) continue;
    transfers += static_cast<double>(outcome.predicted->transfers);
    solves += outcome.predicted->simgrid_solves;
  }
  if (solves == 0) return;
  fmt::print(out, "\n{:.3g} transfers, from {} solve{} of SimGrid\n", transfers, solves,
             solves == 1 ? "" : "s");
}

}  // namespace

void write_table(std::ostream& out, const ScenarioFile& file,
                 const std::vector<PointOutcome>& outcomes) {
  const auto measured = [](const PointOutcome& outcome) { return outcome.measured.has_value(); };
  const bool has_measured = std::any_of(outcomes.begin(), outcomes.end(), measured);
  const auto& axes = outcomes.front().axes;
  const bool has_gpus = std::any_of(axes.begin(), axes.end(),
                                    [](const AxisValue& axis) { return axis.path == "gpus"; });
  std::vector<std::string> header;
  for (const AxisValue& axis : axes) header.push_back(last_part(axis.path));
  if (!has_gpus) header.emplace_back("gpus");
  const std::size_t left = header.size();
  header.insert(header.end(), {"step", "exposed comm", "predicted/s"});
  if (has_measured) header.insert(header.end(), {"measured/s", "error"});
  header.emplace_back("speedup");
  if (has_measured) header.emplace_back("measured");
  TextTable table(std::move(header), left);
  for (const PointOutcome& outcome : outcomes) {
    table.add(row_of(outcome, has_measured, has_gpus));
  }

  fmt::print(out, "{}\n\n", file.name());
  table.write(out);
  write_summary(out, outcomes);
  if (has_measured) fmt::print(out, "measured: {}\n", file.measured_source());
  write_effort(out, outcomes);
  std::vector<std::string> assumptions;
  for (const PointOutcome& outcome : outcomes) {
    assumptions.insert(assumptions.end(), outcome.assumptions.begin(), outcome.assumptions.end());
  }
  write_assumptions(out, assumptions);
  for (const PointOutcome& outcome : outcomes) {
    if (!outcome.predicted) fmt::print(out, "failed: {}\n", outcome.failure);
  }
}

}  // namespace paceline
