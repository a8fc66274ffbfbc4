#include "scenarios/predict/predict_point.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "models/contract.h"
#include "scenarios/predict/interval.h"

namespace paceline {
namespace {

constexpr AssumptionKind slowed{"{}: compute beside a collective takes {} times as long"};
constexpr AssumptionKind slowed_calls{"{}: a collective beside compute takes {} times as long"};
constexpr AssumptionKind unsettled{
    "{}: what is reduced together depends on times that depend on it, and {} passes did not settle "
    "it: the step is of the last, its interval of all"};
constexpr AssumptionKind settled_alone{
    "{}: what is reduced together is decided by compute that is not slowed"};
constexpr AssumptionKind slowed_in_the_mean{
    "{}: ranks that differ are slowed as in their mean: they are too many to tell apart"};
constexpr AssumptionKind slowed_by_traffic{
    "{}: compute beside a collective takes {} times as long, by channels and memory traffic{}"};

// Of points whose strategy decides at run time: how often at most, and how like two decisions are
// that are the same, as a part of the step.
constexpr int decision_passes = 8;
constexpr double decided_within = 1e-4;

// Ends a prediction; caught where it began.
struct Failed {
  PointFailure failure;
};

Result result_of(const ResolvedPoint& point, const Executor& execute) {
  traces::Reply reply = execute(point);
  if (auto* failure = std::get_if<traces::Failure>(&reply)) {
    const auto cause = failure->refused ? FailureCause::refused : FailureCause::failed;
    throw Failed{{cause, std::move(failure->what)}};
  }
  Result result = std::move(std::get<Result>(reply));
  if (rank_count(result.trace) != job_cluster(point).ranks().value()) {
    throw Failed{{FailureCause::failed, "the executor answered for other ranks"}};
  }
  return result;
}

SettledPoint settled(std::shared_ptr<const PreparedPoint> prepared, const Executor& execute) {
  Result result = result_of(prepared->point, execute);
  Seconds shortest = result.totals.step, longest = result.totals.step;
  for (int pass = 1; prepared->decided_by; ++pass) {
    const Seconds step = result.totals.step;
    auto next = std::make_shared<const PreparedPoint>(prepared->decided_by(result.trace));
    if (are_alike(prepared->point.program, next->point.program, step * decided_within)) {
      shortest = longest = step;
      break;
    }
    if (pass == decision_passes) {
      auto last = std::make_shared<PreparedPoint>(*prepared);
      last->assumptions.add({unsettled, "engine", {std::to_string(pass)}});
      prepared = std::move(last);
      break;
    }
    prepared = std::move(next);
    result = result_of(prepared->point, execute);
    shortest = std::min(shortest, result.totals.step);
    longest = std::max(longest, result.totals.step);
  }
  const StepTotals totals = result.totals;
  return {std::move(prepared), std::move(result), totals, shortest, longest};
}

// Where decisions did not settle the interval is as far apart as all passes were.
StepInterval widened(StepInterval interval, Seconds step, const SettledPoint& alone) {
  if (alone.shortest == alone.longest) return interval;
  const auto scaled = [&](Seconds pass) { return step * (pass / alone.totals.step); };
  return {std::min(interval.low, scaled(alone.shortest)),
          std::max(interval.high, scaled(alone.longest))};
}

Prediction prediction_of(const PreparedPoint& prepared, Result result, const SettledPoint& alone) {
  Prediction made;
  made.totals = result.totals;
  made.parts = parts_of(prepared, result);
  const StepInterval interval =
      to_interval(result.totals.step, ends_of(made.parts, interval_widths));
  made.interval = widened(interval, result.totals.step, alone);
  made.assumptions = prepared.assumptions.sentences();
  made.assumptions.insert(made.assumptions.end(), result.notes.begin(), result.notes.end());
  made.communication_alone = alone.totals.communication;
  made.calls = calls_of(result.trace);
  made.compute_spread = compute_spread(result.trace);
  made.trace = std::move(result.trace);
  made.fidelity = result.fidelity;
  made.transfers = result.transfers;
  made.simgrid_solves = result.simgrid_solves;
  return made;
}

Prediction contended(SettledPoint alone, const FittedSlowdown* fitted, const Executor& execute) {
  const Result& found = alone.result;
  const double assumed = cost::assumed_slowdown(found, job_cluster(alone.prepared->point).ranks(),
                                                alone.prepared->device, alone.prepared->channels);
  const auto slowdown = calls_of(found.trace).empty()
                            ? std::nullopt
                            : slowdown_of(alone.prepared->contention, assumed, fitted);
  PreparedPoint prepared = *alone.prepared;
  if (fitted != nullptr && fitted->said) prepared.assumptions.add(*fitted->said);
  if (slowdown) say_slowdown(prepared.contention, *slowdown, prepared.assumptions);
  if (prepared.decided_by && (slowdown || fitted != nullptr)) {
    prepared.assumptions.add({settled_alone, "engine"});
  }
  Result result = std::move(alone.result);
  if (slowdown) {
    const auto step = cost::settled_step(prepared.point, result, *slowdown);
    if (step.is_mean) prepared.assumptions.add({slowed_in_the_mean, "contention"});
    step.apply_to(prepared.point);
    result = result_of(prepared.point, execute);
  }
  return prediction_of(prepared, std::move(result), alone);
}

}  // namespace

std::optional<cost::SideBySide> slowdown_of(const Contention& contention, double assumed,
                                            const FittedSlowdown* fitted) {
  PACELINE_EXPECTS(contention.measured == (fitted != nullptr));
  const double calls = *contention.calls;
  if (contention.assumed) return cost::SideBySide{assumed + contention.more, calls};
  const double compute = fitted == nullptr ? contention.slowdown : fitted->slowdown;
  if (compute <= 1 && calls <= 1) return std::nullopt;
  return cost::SideBySide{compute, calls};
}

void say_slowdown(const Contention& contention, const cost::SideBySide& found,
                  Assumptions& assumptions) {
  const auto say = [&](const AssumptionKind& kind, std::vector<std::string> figures) {
    assumptions.add({kind, "contention", std::move(figures)});
  };
  const std::string factor = fmt::format("{:.2f}", found.compute);
  // A trace's device tells neither multiprocessors nor memory: then they are no reason.
  if (contention.assumed && found.compute > 1 + contention.more) {
    const std::string more =
        contention.more > 0 ? fmt::format(", and {:.2g} more", contention.more) : "";
    say(slowed_by_traffic, {factor, more});
  } else if (found.compute > 1 && !contention.measured) {
    say(slowed, {factor});
  }
  if (found.calls > 1) say(slowed_calls, {fmt::format("{:.2f}", found.calls)});
}

Settled settle_point(std::shared_ptr<const PreparedPoint> prepared, const Executor& execute) {
  try {
    return settled(std::move(prepared), execute);
  } catch (const Failed& failed) {
    return failed.failure;
  }
}

Predicted contend_point(SettledPoint settled, const FittedSlowdown* fitted,
                        const Executor& execute) {
  try {
    return contended(std::move(settled), fitted, execute);
  } catch (const Failed& failed) {
    return failed.failure;
  }
}

Predicted predict_point(std::shared_ptr<const PreparedPoint> prepared, const Executor& execute) {
  Settled settled = settle_point(std::move(prepared), execute);
  if (auto* failure = std::get_if<PointFailure>(&settled)) return std::move(*failure);
  return contend_point(std::move(std::get<SettledPoint>(settled)), nullptr, execute);
}

}  // namespace paceline
