#include "scenarios/cli/learnt_scenario.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <utility>

#include "scenarios/errors.h"
#include "scenarios/predict/evidence.h"
#include "scenarios/text_table.h"

namespace paceline::cli {
namespace {

std::vector<std::size_t> points_to_learn_from(Preparer& points, bool all_rows) {
  if (!all_rows) return points_as_evidence(points);
  std::vector<std::size_t> known;
  for (std::size_t point = 0; point < points.file().point_count(); ++point) {
    if (!points.file().measured(point)) continue;
    if (points.scenario(point)->cluster.ranks() > RankCount(1)) known.push_back(point);
  }
  return known;
}

}  // namespace

LearntSteps learn(const std::string& path, const SharedOptions& options, bool all_rows) {
  const auto file = ScenarioFile::read(path, options.parsed_settings());
  Preparer points(file);
  const std::vector<std::size_t> known = points_to_learn_from(points, all_rows);
  if (known.empty()) {
    throw InputError({path, 0, 0},
                     all_rows ? "has no measured point of several GPUs"
                              : "has no known point of several GPUs to learn from",
                     "give --known \"gpus=8,throughput=900 samples/s\", or --all-rows for all "
                     "points of measured:");
  }
  if (known.size() > learnt_rows_most) {
    throw InputError({path, 0, 0}, fmt::format("has {} points to learn from", known.size()),
                     fmt::format("mark {} of them known: true", learnt_rows_most));
  }
  return learn_from(points, known, options.force);
}

// Of scenarios that have no row of one kind together: one machine has one kind, a sweep several.
void expect_one_kind(const std::vector<LearntSteps>& learnt) {
  for (const LearntSteps& steps : learnt) {
    const LearntSteps& first = learnt.front();
    const auto is_like_first = [&](const LearntSteps::Row& row) {
      return std::ranges::any_of(first.rows, [&](const LearntSteps::Row& one) {
        return one.intra_node == row.intra_node && one.transport == row.transport;
      });
    };
    if (std::ranges::any_of(steps.rows, is_like_first)) continue;
    const LearntSteps::Row &here = steps.rows.front(), &there = first.rows.front();
    throw InputError({steps.scenario, 0, 0},
                     fmt::format("is from another machine than {}: {} and {}, not {} and {}",
                                 first.scenario, to_text(here.intra_node), to_text(here.transport),
                                 to_text(there.intra_node), to_text(there.transport)),
                     "write a file for each machine");
  }
}

void write_told(std::ostream& out, const std::vector<LearntSteps>& learnt) {
  for (const LearntSteps& steps : learnt) {
    TextTable table({"learnt from " + steps.scenario, "measured / predicted step", "what",
                     "believed", "90% interval"},
                    2);
    for (const LearntSteps::Row& row : steps.rows) {
      std::string measured = fmt::format("{:.3f}", std::exp(row.known.measured));
      std::string place = fmt::format("{}x{} GPUs", row.nodes, row.gpus_per_node);
      for (const LearntSteps::Said& one : row.said) {
        table.add(
            {std::exchange(place, ""), std::exchange(measured, ""),
             std::string(to_text(one.quantity)), told(one.quantity, one.value),
             fmt::format("{} to {}", told(one.quantity, one.low), told(one.quantity, one.high))});
      }
    }
    table.write(out);
  }
}

}  // namespace paceline::cli
