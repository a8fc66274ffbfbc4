#include "scenarios/claims/trial.h"

#include <fmt/format.h>

#include <cmath>

namespace paceline::claims {
namespace {

double traffic_of(const PointOutcome& outcome) {
  double bytes = 0;
  for (const CallTimes& call : outcome.predicted->calls) {
    bytes += static_cast<double>(call.size.value());
  }
  return bytes;
}

std::optional<double> part_of(double part, double whole) {
  if (!(whole > 0)) return std::nullopt;
  return part / whole;
}

std::optional<double> saved_of(double before, double after) {
  return part_of(before - after, before);
}

bool is_ratio(Quantity quantity) {
  using enum Quantity;
  return quantity == speedup || quantity == throughput_ratio || quantity == communication_ratio;
}

// The best of one side's settings.
struct Side {
  std::optional<PointOutcome> outcome;
  std::string chosen;  // of several
  std::string refusal;
};

class ClaimRun {
 public:
  ClaimRun(const Claim& claim, Predictions& predictions)
      : claim_(claim), predictions_(predictions) {}

  [[nodiscard]] Trial trial(std::vector<std::size_t> at) {
    Trial made;
    made.at = std::move(at);
    const Settings condition = condition_of(made.at);
    const Side before = best_of(claim_.before, condition), after = best_of(claim_.after, condition);
    if (!before.outcome || !after.outcome) {
      made.left_out = before.outcome ? after.refusal : before.refusal;
      return made;
    }
    made.before = before.chosen;
    made.after = after.chosen;
    judge(*before.outcome, *after.outcome, made);
    return made;
  }

 private:
  [[nodiscard]] Settings condition_of(const std::vector<std::size_t>& at) const {
    Settings settings;
    for (std::size_t axis = 0; axis < at.size(); ++axis) {
      settings.push_back(
          {claim_.conditions[axis].path, claim_.conditions[axis].values[at[axis]], true});
    }
    return settings;
  }

  void judge(const PointOutcome& before, const PointOutcome& after, Trial& made) const {
    const StepTotals& totals = before.predicted->totals;
    made.exposed_before = totals.exposed_communication / totals.step;
    if (claim_.given) {
      const auto given = value_of(claim_.given->quantity, before, after);
      if (!given || !claim_.given->range.holds(*given)) {
        made.left_out =
            fmt::format("not given: {} is {}", paceline::to_text(claim_.given->quantity),
                        given ? to_text(claim_.given->quantity, *given) : "undefined");
        return;
      }
    }
    made.value = value_of(claim_.quantity, before, after);
    made.holds = made.value && claim_.claimed.holds(*made.value);
    if (!made.value) made.left_out = "there is no communication";
  }

  [[nodiscard]] Side best_of(const std::vector<Settings>& several, const Settings& condition) {
    Side best;
    for (const Settings& settings : several) {
      const Attempt& made = predicted(settings, condition);
      if (!made.outcome) {
        best.refusal = made.refusal;
      } else if (made.is_too_large()) {
        best.refusal = "does not fit: " + memory_text(*made.outcome);
      } else if (!best.outcome ||
                 made.outcome->predicted_throughput() > best.outcome->predicted_throughput()) {
        best.outcome = made.outcome;
        if (several.size() > 1) best.chosen = in_words(settings);
      }
    }
    return best;
  }

  // The settings of a side come after those of the condition, and replace them.
  const Attempt& predicted(const Settings& side, const Settings& condition) {
    Settings all = condition;
    all.insert(all.end(), side.begin(), side.end());
    return predictions_.of(claim_, all);
  }

  const Claim& claim_;
  Predictions& predictions_;
};

}  // namespace

const Attempt& Predictions::of(const Claim& claim, const Settings& settings) {
  std::map<std::string, std::string> by_path = claim.base.by_path;
  by_path.erase("name");  // of the claim
  for (const ScenarioFile::Setting& one : settings) {
    by_path.insert_or_assign(one.path, one.value);
  }
  std::string key = claim.scenario;
  for (const auto& [path, value] : by_path) key += "\n" + path + "=" + value;
  const auto known = known_.find(key);
  if (known != known_.end()) return known->second;
  Attempt made = attempt(
      [&] {
        return claim.scenario.empty()
                   ? ScenarioFile::of_values("claim " + claim.name, claim.base, settings)
                   : ScenarioFile::read(claim.scenario, settings);
      },
      options_);
  return known_.emplace(std::move(key), std::move(made)).first->second;
}

std::optional<double> value_of(Quantity quantity, const PointOutcome& before,
                               const PointOutcome& after) {
  const StepTotals& was = before.predicted->totals;
  const StepTotals& is = after.predicted->totals;
  const double faster = after.predicted_throughput() / before.predicted_throughput();
  const double communication_was = was.communication.value(),
               communication_is = is.communication.value();
  switch (quantity) {
    case Quantity::speedup: return after.predicted_speedup();
    case Quantity::communication_share: return is.communication / is.step;
    case Quantity::exposed_share: return is.exposed_communication / is.step;
    case Quantity::throughput_ratio: return faster;
    case Quantity::time_saved: return 1 - 1 / faster;
    case Quantity::communication_ratio: return part_of(communication_was, communication_is);
    case Quantity::communication_saved: return saved_of(communication_was, communication_is);
    case Quantity::exposed_saved:
      return saved_of(was.exposed_communication.value(), is.exposed_communication.value());
    case Quantity::traffic_saved: return saved_of(traffic_of(before), traffic_of(after));
  }
  return std::nullopt;
}

std::string to_text(Quantity quantity, double value) {
  if (is_ratio(quantity)) return fmt::format("{:.2f}x", value);
  const double percent = 100 * value;
  return fmt::format("{:.1f} %", std::abs(percent) < 0.05 ? 0.0 : percent);
}

std::vector<Trial> put_to_test(const Claim& claim, Predictions& predictions) {
  ClaimRun run(claim, predictions);
  std::size_t count = 1;
  for (const ClaimAxis& axis : claim.conditions) count *= axis.values.size();
  std::vector<Trial> trials;
  for (std::size_t condition = 0; condition < count; ++condition) {
    std::vector<std::size_t> at;
    std::size_t rest = count;
    for (const ClaimAxis& axis : claim.conditions) {
      rest /= axis.values.size();
      at.push_back(condition / rest % axis.values.size());
    }
    trials.push_back(run.trial(std::move(at)));
  }
  return trials;
}

}  // namespace paceline::claims
