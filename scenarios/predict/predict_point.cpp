#include "scenarios/predict/predict_point.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <utility>

#include "models/units/parse.h"
#include "scenarios/predict/composition.h"
#include "scenarios/predict/evidence.h"

namespace paceline {
namespace {

constexpr AssumptionKind slowed{"{}: compute runs {}x slower while overlapped with a collective"};
constexpr AssumptionKind slowed_calls{
    "{}: collectives run {}x slower while overlapped with compute"};
constexpr AssumptionKind unsettled{
    "{}: which gradients are reduced together depends on times that depend on it; {} passes "
    "did not settle it, so the step is that of the last pass and its interval covers all of "
    "them"};
constexpr AssumptionKind settled_alone{
    "{}: compute without slowdown decides which gradients are reduced together"};
constexpr AssumptionKind learnt{"{}: {}"};
constexpr AssumptionKind slowed_in_the_mean{
    "{}: ranks differ and are too many to treat one by one; all are slowed down by the mean"};
constexpr AssumptionKind slowed_by_traffic{
    "{}: compute runs {}x slower while overlapped with a collective, because of channels and "
    "memory traffic{}"};

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

// A point as if compute and collectives did not slow each other down.
struct SettledPoint {
  std::shared_ptr<const PreparedPoint> prepared;  // as its strategy decided last
  Result result;
  StepTotals totals;  // of the result
  // Steps of all passes where the strategy's decisions did not settle; else of the last.
  Seconds shortest, longest;
};

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

// A replay's is no narrower than the steps that were traced differ.
StepInterval widened(StepInterval interval, Seconds step, const RatioRange& traced) {
  return {std::min(interval.low, step * traced.low), std::max(interval.high, step * traced.high)};
}

// A step that was predicted, to be composed again for as long as anybody asks.
std::function<double(const std::array<double, uncertain::quantities>&)> composed_of(
    const PreparedPoint& prepared, const Result& result) {
  struct Kept {
    PreparedPoint prepared;
    Result result;
    Composition composition{prepared, result};
  };
  const auto kept = std::make_shared<const Kept>(prepared, result);
  return [kept, as_described = kept->composition.step({})](const auto& values) {
    return std::log(kept->composition.step(scale_of(kept->prepared, values)) / as_described);
  };
}

// As quantities say; as long as a row that is known, and no shorter than the step of one GPU. Where
// ranks differ a composed step is not quite the simulated one.
StepTrace believed_trace(const PreparedPoint& prepared, const Composition& composition,
                         const Prediction& described, Seconds step) {
  StepScale scale = scale_of(prepared, described.believed.values);
  const double exact = step / composition.step({});
  const Seconds composed = composition.step(scale) * exact;
  const Seconds moved = step * std::exp(described.believed.moved);
  const Seconds fastest = step * std::exp(described.response.fastest(described.believed.values));
  scale.whole =
      exact * (described.believed.row ? moved / composed : std::max(fastest / composed, 1.0));
  return composition.trace(scale);
}

Prediction prediction_of(const PreparedPoint& prepared, Result result, const SettledPoint& alone,
                         const uncertain::Belief& of_machine) {
  Prediction made;
  const uncertain::Belief& belief = is_input(prepared.place) ? unconditioned_belief() : of_machine;
  const Composition composition(prepared, result);
  const auto steps_of = [&](std::span<const StepScale> scales) {
    std::vector<Seconds> steps;
    for (const StepScale& scale : scales) steps.push_back(composition.step(scale));
    return steps;
  };
  made.response = response_of(prepared, result.totals.step, steps_of);
  const cost::LeastTimes calls = composition.call_times();
  give_bounds(prepared, job_cluster(prepared.point), calls, made.response);
  if (prepared.is_measured) {
    made.described = {result.totals.step, far_response_of(prepared, result.totals.step, steps_of),
                      kernels_of(result.totals.step, steps_of)};
    give_bounds(prepared, job_cluster(prepared.point), calls, made.described.response);
    made.composed = composed_of(prepared, result);
  }
  made.belief = belief;
  made.believed = belief.of(made.response);
  made.assumptions = prepared.assumptions.sentences();
  made.assumptions.insert(made.assumptions.end(), result.notes.begin(), result.notes.end());
  const bool is_described = made.believed.is_as_described();
  made.trace = is_described ? std::move(result.trace)
                            : believed_trace(prepared, composition, made, result.totals.step);
  made.totals = is_described ? result.totals : totals_of(made.trace);
  made.interval = to_interval(made.totals.step, made.believed);
  const Seconds shortest = result.totals.step * std::exp(made.response.shortest);
  made.interval.low = std::max(made.interval.low, std::min(shortest, made.totals.step));
  made.interval = widened(made.interval, made.totals.step, alone);
  made.interval = widened(made.interval, made.totals.step, prepared.traced);
  for (std::string& sentence : sentences_of(belief, made)) {
    made.assumptions.push_back(std::move(sentence));
  }
  made.totals_alone = alone.totals;
  made.calls = calls_of(made.trace);
  made.compute_spread = compute_spread(made.trace);
  made.fidelity = result.fidelity;
  made.transfers = result.transfers;
  return made;
}

Prediction contended(SettledPoint alone, const uncertain::Belief& belief, const Executor& execute) {
  const Result& found = alone.result;
  const double assumed = cost::assumed_slowdown(found, job_cluster(alone.prepared->point).ranks(),
                                                alone.prepared->device, alone.prepared->channels);
  const auto slowdown = calls_of(found.trace).empty()
                            ? std::nullopt
                            : slowdown_of(alone.prepared->contention, assumed);
  PreparedPoint prepared = *alone.prepared;
  if (slowdown) say_slowdown(prepared.contention, *slowdown, prepared.assumptions);
  if (prepared.decided_by && slowdown) prepared.assumptions.add({settled_alone, "engine"});
  Result result = std::move(alone.result);
  if (slowdown) {
    const auto step = cost::settled_step(prepared.point, result, *slowdown);
    if (step.is_mean) prepared.assumptions.add({slowed_in_the_mean, "contention"});
    step.apply_to(prepared.point);
    result = result_of(prepared.point, execute);
  }
  Prediction made = prediction_of(prepared, std::move(result), alone, belief);
  made.alone = alone.prepared;
  made.contention = slowdown;
  return made;
}

}  // namespace

std::optional<cost::SideBySide> slowdown_of(const Contention& contention, double assumed) {
  const double calls = *contention.calls;
  if (contention.assumed) return cost::SideBySide{assumed + contention.more, calls};
  if (contention.slowdown <= 1 && calls <= 1) return std::nullopt;
  return cost::SideBySide{contention.slowdown, calls};
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
  } else if (found.compute > 1) {
    say(slowed, {factor});
  }
  if (found.calls > 1) say(slowed_calls, {fmt::format("{:.2f}", found.calls)});
}

std::vector<std::string> sentences_of(const uncertain::Belief& belief,
                                      const Prediction& prediction) {
  using uncertain::Unknown;
  constexpr double least = 0.005;  // less is not worth a line
  std::vector<std::string> parts;
  for (const auto& [quantity, words] : words_of(Unknown{})) {
    const double value = prediction.believed.values[static_cast<std::size_t>(quantity)];
    const bool matters = std::abs(prediction.response.at(quantity, value)) >= least;
    if (!matters) continue;
    if (quantity == Unknown::overlap) {
      parts.push_back(fmt::format("{:.0f} % less communication hides", 100 * value));
    } else if (quantity == Unknown::host) {
      parts.push_back(fmt::format("the host {} a gradient", to_text(Seconds(1e-5 * value))));
    } else {
      parts.push_back(fmt::format("{} {:.2f}x", words, std::exp(value)));
    }
  }
  if (parts.empty()) return {};
  return {
      Assumption(learnt, belief.told_by(), {fmt::format("{}", fmt::join(parts, ", "))}).sentence()};
}

Predicted predict_point(const std::shared_ptr<const PreparedPoint>& prepared,
                        const uncertain::Belief& belief, const Executor& execute) {
  try {
    return contended(settled(prepared, execute), belief, execute);
  } catch (const Failed& failed) {
    return failed.failure;
  }
}

}  // namespace paceline
