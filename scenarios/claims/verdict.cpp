#include "scenarios/claims/verdict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>

namespace paceline::claims {
namespace {

// Values of two axes, by index; all of an axis when it does not matter.
struct Rectangle {
  std::size_t first_axis = 0, second_axis = 0;
  std::vector<bool> first, second;
  std::size_t axes = 0, count = 0;  // axes that matter; trials that count in it
};

// Of two axes' values, or one axis's and a single value: how many trials count, and how many hold.
struct Cells {
  std::vector<std::vector<std::size_t>> counted, held;
};

Cells cells_of(const std::vector<ClaimAxis>& axes, const std::vector<Trial>& trials,
               std::size_t first, std::size_t second) {
  const bool is_pair = first != second;
  const std::vector<std::size_t> row(is_pair ? axes[second].values.size() : 1);
  Cells cells{{axes[first].values.size(), row}, {axes[first].values.size(), row}};
  for (const Trial& trial : trials) {
    if (!trial.value) continue;
    const std::size_t column = is_pair ? trial.at[second] : 0;
    ++cells.counted[trial.at[first]][column];
    if (trial.holds) ++cells.held[trial.at[first]][column];
  }
  return cells;
}

bool all_true(const std::vector<bool>& values) {
  return std::ranges::all_of(values, [](bool one) { return one; });
}

// The values of the second axis at which the claim holds with all of these of the first.
Rectangle widened(const Cells& cells, std::vector<bool> first) {
  Rectangle made;
  made.first = std::move(first);
  for (std::size_t v = 0; v < cells.counted.front().size(); ++v) {
    std::size_t counted = 0, held = 0;
    for (std::size_t u = 0; u < cells.counted.size(); ++u) {
      if (!made.first[u]) continue;
      counted += cells.counted[u][v];
      held += cells.held[u][v];
    }
    made.second.push_back(counted == held);
    if (counted == held) made.count += counted;
  }
  return made;
}

// The larger one; of equal ones that of fewer axes.
bool is_better(const Rectangle& one, const Rectangle& other) {
  return one.count > other.count ||
         (one.count > 0 && one.count == other.count && one.axes < other.axes);
}

constexpr std::size_t values_max = 12;  // of an axis, all of whose subsets are looked at

Rectangle largest_of(const Cells& cells) {
  Rectangle best;
  const std::size_t values = std::min(cells.counted.size(), values_max);
  for (std::size_t subset = 1; subset < (std::size_t{1} << values); ++subset) {
    std::vector<bool> first(cells.counted.size());
    for (std::size_t u = 0; u < values; ++u) first[u] = (subset >> u & 1) != 0;
    Rectangle made = widened(cells, std::move(first));
    made.axes = (all_true(made.first) ? 0U : 1U) + (all_true(made.second) ? 0U : 1U);
    if (is_better(made, best)) best = std::move(made);
  }
  return best;
}

// "latency is 5ms or more", "strategy is ddp, fsdp".
std::string values_text(const ClaimAxis& axis, const std::vector<bool>& chosen) {
  std::vector<std::string> values;
  std::size_t first = chosen.size(), last = 0;
  for (std::size_t v = 0; v < chosen.size(); ++v) {
    if (!chosen[v]) continue;
    values.push_back(axis.values[v]);
    first = std::min(first, v);
    last = v;
  }
  const std::string name = axis.path.substr(axis.path.rfind('.') + 1);
  const bool are_numbers = std::ranges::all_of(axis.values, [](const std::string& value) {
    return !value.empty() && std::isdigit(static_cast<unsigned char>(value.front())) != 0;
  });
  const bool is_run = are_numbers && last - first + 1 == values.size();
  if (is_run && last + 1 == chosen.size()) {
    return fmt::format("{} is {} or more", name, values.front());
  }
  if (is_run && first == 0) return fmt::format("{} is {} or less", name, values.back());
  return fmt::format("{} is {}", name, fmt::join(values, ", "));
}

Where to_where(const std::vector<ClaimAxis>& axes, const std::vector<Trial>& trials,
               const Rectangle& set) {
  Where where;
  where.count = set.count;
  const bool is_pair = set.second_axis != set.first_axis;
  std::vector<std::string> parts;
  if (!all_true(set.first)) parts.push_back(values_text(axes[set.first_axis], set.first));
  if (is_pair && !all_true(set.second)) {
    parts.push_back(values_text(axes[set.second_axis], set.second));
  }
  where.text = fmt::format("{}", fmt::join(parts, " and "));
  for (const Trial& trial : trials) {
    where.is_there.push_back(set.first[trial.at[set.first_axis]] &&
                             (!is_pair || set.second[trial.at[set.second_axis]]));
  }
  return where;
}

// Of trials that count, where `is_there` says so.
template <class IsThere>
Range ends_of(const std::vector<Trial>& trials, const IsThere& is_there) {
  Range ends;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (trials[i].value && is_there(i)) ends.include(*trials[i].value);
  }
  return ends;
}

// Saving communication saves no more than what of it is exposed: said where that rules a claim out.
std::string ceiling_text(const Finding& finding) {
  const bool is_of_time = finding.claim.quantity == Quantity::time_saved;
  if (!is_of_time || !finding.claim.claimed.least) return "";
  double most = 0;
  for (const Trial& trial : finding.trials) {
    if (trial.value) most = std::max(most, trial.exposed_before);
  }
  if (most >= *finding.claim.claimed.least) return "";
  return fmt::format("; at most {} of the step before is exposed communication",
                     to_text(Quantity::exposed_share, most));
}

// Where trials lie that no two conditions tell apart.
std::string sides_text(const Finding& finding) {
  const Range& claimed = finding.claim.claimed;
  std::size_t below = 0, above = 0;
  for (const Trial& trial : finding.trials) {
    if (!trial.value) continue;
    if (claimed.least && *trial.value < *claimed.least) ++below;
    if (claimed.most && *trial.value > *claimed.most) ++above;
  }
  return fmt::format(": less than claimed at {}, in the range at {}, more at {} of {}", below,
                     finding.held, above, finding.counted);
}

std::string why_nowhere(const Finding& finding) {
  const Range& claimed = finding.claim.claimed;
  const std::string predicted = to_text(finding.claim.quantity, finding.predicted);
  if (claimed.least && *finding.predicted.most < *claimed.least) {
    return fmt::format("{} is less than claimed{}", predicted, ceiling_text(finding));
  }
  if (claimed.most && *finding.predicted.least > *claimed.most) {
    return fmt::format("{} is more than claimed", predicted);
  }
  return predicted + sides_text(finding);
}

std::string why_there(const Finding& finding) {
  const Quantity quantity = finding.claim.quantity;
  if (!finding.where) return to_text(quantity, finding.predicted) + sides_text(finding);
  const Where& where = *finding.where;
  const Range there = ends_of(finding.trials, [&](std::size_t i) { return where.is_there[i]; });
  const Range elsewhere =
      ends_of(finding.trials, [&](std::size_t i) { return !where.is_there[i]; });
  std::string text = fmt::format("{}: {} there, {} elsewhere", where.text, to_text(quantity, there),
                                 to_text(quantity, elsewhere));
  const std::size_t others = finding.held - where.count;
  if (others > 0) {
    text += fmt::format(", where it holds at {} of {}", others, finding.counted - where.count);
  }
  return text;
}

void decide(Finding& finding) {
  const auto decide_as = [&](Verdict verdict, std::string reason) {
    finding.verdict = verdict;
    finding.reason = std::move(reason);
  };
  if (!finding.claim.not_modelled.empty()) {
    decide_as(Verdict::cannot_be_told, finding.claim.not_modelled);
  } else if (finding.counted == 0) {
    decide_as(Verdict::cannot_be_told, "no condition counts: " + finding.trials.front().left_out);
  } else if (finding.held == finding.counted) {
    decide_as(Verdict::holds, fmt::format("{} wherever it was tried",
                                          to_text(finding.claim.quantity, finding.predicted)));
  } else if (finding.held == 0) {
    decide_as(Verdict::does_not_hold, why_nowhere(finding));
  } else {
    finding.where = where_it_holds(finding.claim.conditions, finding.trials);
    decide_as(finding.where ? Verdict::holds_if : Verdict::does_not_hold, why_there(finding));
  }
}

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

std::optional<Where> where_it_holds(const std::vector<ClaimAxis>& axes,
                                    const std::vector<Trial>& trials) {
  Rectangle best;
  for (std::size_t first = 0; first < axes.size(); ++first) {
    for (std::size_t second = 0; second < axes.size(); ++second) {
      const bool is_pair = second > first;
      if (second < first || (!is_pair && axes.size() > 1)) continue;
      Rectangle made = largest_of(cells_of(axes, trials, first, second));
      made.first_axis = first;
      made.second_axis = second;
      if (is_better(made, best)) best = std::move(made);
    }
  }
  if (best.count == 0) return std::nullopt;
  return to_where(axes, trials, best);
}

Finding judge(Claim claim, std::vector<Trial> trials) {
  Finding finding;
  finding.claim = std::move(claim);
  finding.trials = std::move(trials);
  for (const Trial& trial : finding.trials) {
    if (!trial.value) continue;
    finding.predicted.include(*trial.value);
    ++finding.counted;
    if (trial.holds) ++finding.held;
  }
  decide(finding);
  return finding;
}

std::string to_text(Quantity quantity, const Range& range) {
  if (!range.least && !range.most) return "nothing";
  if (!range.most) return to_text(quantity, *range.least) + " or more";
  if (!range.least) return to_text(quantity, *range.most) + " or less";
  const std::string least = to_text(quantity, *range.least), most = to_text(quantity, *range.most);
  return least == most ? least : fmt::format("{} to {}", least, most);
}

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
