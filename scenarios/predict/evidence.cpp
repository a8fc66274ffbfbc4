#include "scenarios/predict/evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "models/contract.h"
#include "scenarios/errors.h"
#include "scenarios/predict/point_source.h"
#include "scenarios/predict/simulate.h"
#include "scenarios/prepare/resolve.h"

namespace paceline {

namespace {

// Predicts under `belief`; any failure ends the run.
PointOutcome outcome_by(const uncertain::Belief& belief, Preparer& points, std::size_t point,
                        const RunOptions& options) {
  const Location where{points.file().path()};
  const auto prepared = points.prediction(point);
  (void)time_expected(prepared->point, options.force, where);
  PointOutcome outcome = outcome_of(points.file(), *prepared);
  take(predict_point(prepared, belief, simulation(options.force, options.check)), where, outcome);
  if (const auto& failure = outcome.failure) {
    if (failure->cause == FailureCause::refused) throw refusal(failure->why, where);
    throw BackendError("simulation", "of a point that is known: " + failure->why);
  }
  return outcome;
}

std::vector<uncertain::KnownRow> rows_at(Preparer& points, const std::vector<std::size_t>& known,
                                         const RunOptions& options) {
  std::vector<uncertain::KnownRow> rows;
  for (const std::size_t point : known) {
    rows.push_back(known_row_of(outcome_by(unconditioned_belief(), points, point, options)));
  }
  return rows;
}

// What settings make of the machine and workload.
std::string settings_of(const ScenarioFile& file) {
  auto settings = without_known(file.settings());
  std::erase_if(settings, [](const auto& one) { return one.path == "cluster.calibration"; });
  return in_words(settings);
}

// Its rows would be predicted by themselves.
void refuse_same(const LearntSteps& steps, const ScenarioFile& file) {
  if (steps.sha256 != file.sha256() || steps.settings != settings_of(file)) return;
  throw InputError({"cluster.calibration"}, "was learnt from this very scenario",
                   "name it in others of the machine; here its rows are known by --known, or by "
                   "known: true in measured.points");
}

// Rows that others learnt, behind the file's own.
uncertain::Belief belief_in(Preparer& points, std::vector<uncertain::KnownRow> rows) {
  std::vector<std::string> told_by;
  if (!rows.empty()) told_by.emplace_back("known rows");
  const auto learnt = points.learnt();
  const bool has_logs = !points.scenario(0)->calibration.empty();
  const bool is_measured = points.scenario(0)->network_is_measured;
  for (std::uint32_t number = 1; learnt && number <= learnt->learnt.size(); ++number) {
    const LearntSteps& steps = learnt->learnt[number - 1];
    refuse_same(steps, points.file());
    for (const LearntSteps::Row& row : steps.rows) {
      uncertain::KnownRow& known = rows.emplace_back(row.known);
      known.response.place = said_place_of(known.response.place, is_measured);
      known.response.place.workload = number;
      // Logs say what the calls of one of them take, and not how far descriptions are off.
      if (has_logs || steps.had_logs) known.response.place.links = number;
    }
    told_by.push_back(fmt::format("learnt from {} ({} row{})", steps.scenario, steps.rows.size(),
                                  steps.rows.size() == 1 ? "" : "s"));
  }
  return {uncertain::known_priors(), std::move(rows),
          fmt::format("{}", fmt::join(told_by, ", and "))};
}

// What is believed of the machine at a row.
std::vector<LearntSteps::Said> said_of(const uncertain::Belief& belief,
                                       const uncertain::Response& response) {
  using uncertain::Unknown;
  std::vector<LearntSteps::Said> said;
  for (const Unknown quantity : {Unknown::node_links, Unknown::network, Unknown::overlap}) {
    const auto q = static_cast<std::size_t>(quantity);
    if (response.curves[q].places().empty()) continue;
    const uncertain::Believed believed =
        belief.of(uncertain::response_of_itself(response.place, quantity));
    const double value = believed.values[q];
    LearntSteps::Said one{quantity, value, value + believed.lows[q], value + believed.highs[q]};
    if (quantity == Unknown::overlap) {
      one.low = std::clamp(one.low, 0.0, 1.0);
      one.high = std::clamp(one.high, 0.0, 1.0);
    }
    said.push_back(one);
  }
  return said;
}

}  // namespace

const uncertain::Belief& unconditioned_belief() {
  static const uncertain::Belief belief(uncertain::known_priors());
  return belief;
}

uncertain::KnownRow known_row_of(const PointOutcome& outcome) {
  PACELINE_EXPECTS(outcome.predicted && outcome.measured && outcome.gpus > 1);
  constexpr double log_most = 5;  // more than 100 times as long is a slip
  const Seconds took(outcome.samples_per_step / outcome.measured->throughput.value());
  const double measured = std::log(took / outcome.predicted->response.step);
  if (!(std::abs(measured) <= log_most)) {
    throw InputError(
        outcome.measured->where,
        fmt::format("is {:.3g} samples/s, where {:.3g} are predicted",
                    outcome.measured->throughput.value(), outcome.predicted_throughput().value()),
        "check its unit, and the batch");
  }
  return {outcome.predicted->response, measured, outcome.measured->deviation,
          outcome.predicted->composed};
}

std::vector<std::size_t> points_as_evidence(Preparer& points) {
  std::vector<std::size_t> known;
  for (const std::size_t point : points.file().known_points()) {
    if (points.scenario(point)->cluster.ranks() > RankCount(1)) known.push_back(point);
  }
  return known;
}

bool has_evidence(Preparer& points) {
  return points.learnt() != nullptr || !points_as_evidence(points).empty();
}

uncertain::Belief belief_from(Preparer& points, const RunOptions& options) {
  return belief_in(points, rows_at(points, points_as_evidence(points), options));
}

LearntSteps learn_from(Preparer& points, const std::vector<std::size_t>& known, bool force) {
  PACELINE_EXPECTS(known.size() <= learnt_rows_most);
  const ScenarioFile& file = points.file();
  LearntSteps learnt;
  learnt.scenario = std::filesystem::path(file.path()).filename().string();
  learnt.sha256 = file.sha256();
  learnt.settings = settings_of(file);
  RunOptions options;
  options.force = force;
  std::vector<uncertain::KnownRow> rows = rows_at(points, known, options);
  for (std::size_t i = 0; i < known.size(); ++i) {
    const auto scenario = points.scenario(known[i]);
    const topology::Cluster& cluster = scenario->cluster;
    learnt.had_logs |= !scenario->calibration.empty();
    learnt.rows.push_back({cluster.gpus_per_node, cluster.nodes, cluster.intra_node.kind,
                           cluster.network.transport, rows[i]});
    learnt.rows.back().known.response.place = described_place_of(*scenario);
  }
  const uncertain::Belief belief = belief_in(points, rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    learnt.rows[i].said = said_of(belief, rows[i].response);
  }
  return learnt;
}

std::shared_ptr<const uncertain::Belief> belief_of(const std::string& path,
                                                   std::vector<ScenarioFile::Setting> settings,
                                                   const RunOptions& options) {
  if (options.belief) return options.belief;
  std::erase_if(settings, [](const ScenarioFile::Setting& one) { return one.path == "gpus"; });
  const ScenarioFile file = ScenarioFile::read(path, settings, ScenarioFile::points_max_one_by_one);
  Preparer points(file);
  if (!has_evidence(points)) return nullptr;
  return std::make_shared<const uncertain::Belief>(belief_from(points, options));
}

}  // namespace paceline
