#include "scenarios/prepare/preparer.h"

#include <algorithm>
#include <utility>

#include "scenarios/errors.h"
#include "scenarios/prepare/calibrated.h"

namespace paceline {
namespace {

void take_for_measured(const std::string& links, uncertain::Place& place) {
  if (links == "cluster.network") place.network = uncertain::LinkClass::measured;
  if (links != "cluster.intra_node") return;
  place.node = uncertain::LinkClass::measured;
  place.box = 0;
}

// Those of a trace have a part for each rank.
std::size_t operations_of(const training::StepProgram& program) {
  std::size_t count = program.operations.size();
  for (const training::Operation& one : program.operations) count += one.rank_parts.size() / 16;
  return count;
}

std::size_t operations_of(const Scenario& scenario) {
  return scenario.workload.layers.size() +
         (scenario.traced ? operations_of(scenario.traced->program) : 0);
}

// Says so where the user can change it: at what NCCL may choose, or at the algorithm's name.
[[noreturn]] void refuse_switches(const CollectiveSettings& settings) {
  using cost::nccl::Algorithm;
  const auto fixed = settings.nccl.algorithm;
  const bool leaves_choice =
      !fixed || *fixed == Algorithm::ring || *fixed == Algorithm::tree;  // of others' collectives
  const bool is_named = settings.library != cost::Library::nccl || !leaves_choice;
  throw InputError({is_named ? "collective.algorithm" : "collective.nvls"},
                   "switches make the sums of some plans, which only NCCL itself can have them do",
                   is_named ? "name another, or set real.mode: native"
                            : "set it to false, or real.mode: native");
}

struct Source {
  std::shared_ptr<const Scenario> scenario;
  std::shared_ptr<const Calibration> calibration;
  PredictionOptions options;
  std::size_t point;
  bool is_measured;
};

// `earlier`: what its strategy decides by; null: by what it forecasts.
PreparedPoint predicted(const Source& from, const training::EarlierStep* earlier) {
  PreparedPoint made = resolve(*from.scenario, from.point, from.calibration.get(),
                               {training::Purpose::prediction, earlier});
  made.is_measured = from.is_measured;
  if (from.options.as_measured) choose_automatic_calls(made);
  take_for_measured(from.options.measured_links, made.place);
  const bool decides =
      from.scenario->strategy->decides_at_run_time && from.scenario->cluster.ranks() > RankCount(1);
  if (!decides) return made;
  made.decided_by = [from](const StepTrace& trace) {
    training::EarlierStep step{trace.program, {}};
    for (const RankClass& members : trace.classes) step.ranks.emplace_back(members.intervals);
    return predicted(from, &step);
  };
  return made;
}

}  // namespace

std::shared_ptr<const Scenario> Preparer::scenario(std::size_t point) {
  return kept(point).scenario;
}

std::shared_ptr<const PreparedPoint> Preparer::prediction(std::size_t point) {
  Kept& of_point = kept(point);
  if (!of_point.prediction) {
    check_learnt(*of_point.scenario);
    of_point.prediction = std::make_shared<const PreparedPoint>(
        predicted({of_point.scenario, calibration(of_point.scenario->calibration), options_, point,
                   file_.measured(point).has_value()},
                  nullptr));
    count(operations_of(of_point.prediction->point.program));
  }
  return of_point.prediction;
}

std::shared_ptr<const PreparedPoint> Preparer::measurement(std::size_t point) {
  Kept& of_point = kept(point);
  if (!of_point.measurement) {
    of_point.measurement =
        std::make_shared<const PreparedPoint>(measured(*of_point.scenario, point));
    count(operations_of(of_point.measurement->point.program));
  }
  return of_point.measurement;
}

Preparer::Kept& Preparer::kept(std::size_t point) {
  const auto known = by_point_.find(point);
  if (known != by_point_.end()) {
    kept_.splice(kept_.begin(), kept_, known->second);
    return kept_.front();
  }
  Scenario scenario = file_.scenario(point);
  const auto calibrated = calibration(scenario.calibration);
  if (calibrated) take_links(*calibrated, scenario);
  Kept made{point, std::make_shared<const Scenario>(std::move(scenario)), nullptr, nullptr};
  ++scenarios_loaded_;
  kept_.push_front(std::move(made));
  by_point_.emplace(point, kept_.begin());
  count(operations_of(*kept_.front().scenario));
  return kept_.front();
}

// The point that was asked for, in front, stays.
void Preparer::count(std::size_t operations) {
  kept_.front().operations += operations;
  operations_ += operations;
  while (operations_ > options_.operations_kept && kept_.size() > 1) {
    operations_ -= kept_.back().operations;
    by_point_.erase(kept_.back().point);
    kept_.pop_back();
  }
}

PreparedPoint Preparer::measured(const Scenario& scenario, std::size_t point) {
  PreparedPoint made = resolve(scenario, point, nullptr, {training::Purpose::measurement});
  made.point.measure = scenario.real.measure;
  choose_automatic_calls(made);
  if (scenario.real.measure.mode == CollectiveMode::plan && switches_of_job(made.point) > 0) {
    refuse_switches(scenario.collective);
  }
  // The others are of what is measured.
  made.assumptions.keep_only({unmeasured_speed, carried_speed});
  return made;
}

// Not by kept(), which may leave out the point that it is asked for.
std::shared_ptr<const Calibration> Preparer::learnt() {
  if (!learnt_path_) learnt_path_ = file_.scenario(0).learnt;
  return calibration(*learnt_path_);
}

// Only an axis makes scenarios of a file differ here.
void Preparer::check_learnt(const Scenario& scenario) {
  const bool may_differ = std::ranges::any_of(file_.axes(), [](const ScenarioFile::Axis& axis) {
    return axis.path.starts_with("cluster");
  });
  if (!may_differ && scenario.learnt.empty()) return;
  const auto of_all = learnt();
  if (scenario.learnt != *learnt_path_) {
    throw InputError({"cluster.calibration"},
                     "differs between points, and what was learnt of a machine is of all of them",
                     "take each by itself: --set cluster.calibration=FILE");
  }
  if (of_all) expect_same_kind(of_all->learnt, scenario);
}

std::shared_ptr<const Calibration> Preparer::calibration(const std::string& path) {
  if (path.empty()) return nullptr;
  auto& known = calibrations_[path];
  if (!known) known = std::make_shared<const Calibration>(read_calibration(path));
  return known;
}

}  // namespace paceline
