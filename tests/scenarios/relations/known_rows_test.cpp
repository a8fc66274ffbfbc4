// What known rows make of predictions, whatever the scenario: what was measured is predicted, or
// said to contradict; other points go the same way; order does not matter. Every tenth of 30 seeds;
// PACELINE_RELATION_SEEDS as many (many_seeds.sh). PACELINE_RELATION_SHIPPED: all shipped ones.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "models/uncertain/covariance.h"
#include "scenarios/judge/contradictions.h"
#include "tests/scenarios/relations/beaten.h"
#include "tests/scenarios/relations/tried_scenario.h"
#include "tests/scenarios/relations/varied_scenario.h"

namespace paceline::test {
namespace {

using uncertain::quantities;

constexpr double row_within = 0.0513;  // a logarithm of 0.05
constexpr double smooth_within = 0.01;

double step_of(const PointOutcome& outcome) { return outcome.predicted->totals.step.value(); }

// A scenario with several numbers of GPUs, of which the smallest may be known.
class KnownRows {
 public:
  // nullptr where a point has no prediction, there is one of several GPUs only, or its file has
  // known rows of its own.
  static std::unique_ptr<KnownRows> of(const std::string& path) {
    std::unique_ptr<KnownRows> made(new KnownRows(path));
    made->described_ = TriedScenario::run(path, {}, {});
    if (!made->described_ || !made->described_->file().known_points().empty()) return nullptr;
    const auto& outcomes = made->described_->outcomes();
    for (std::size_t point = 0; point < outcomes.size(); ++point) {
      if (!outcomes[point].predicted) return nullptr;
      if (outcomes[point].gpus > 1) made->several_.push_back(point);
    }
    std::ranges::stable_sort(made->several_, {},
                             [&](std::size_t point) { return outcomes[point].gpus; });
    return made->several_.empty() ? nullptr : std::move(made);
  }

  // Numbers of points of several GPUs, of the fewest first.
  [[nodiscard]] const std::vector<std::size_t>& several() const { return several_; }
  [[nodiscard]] TriedScenario& described() const { return *described_; }
  [[nodiscard]] double described_step(std::size_t point) const {
    return step_of(described_->outcomes()[point]);
  }

  // With rows of the smallest points, so many times as long as described; nullptr: refused.
  [[nodiscard]] std::unique_ptr<TriedScenario> with(const std::vector<double>& times,
                                                    const RunOptions& options = {}) const {
    TriedScenario::Settings settings;
    for (std::size_t i = 0; i < times.size(); ++i) {
      const Seconds row(described_step(several_[i]) * times[i]);
      settings.push_back(known_step(described_->outcomes()[several_[i]], row));
    }
    return TriedScenario::run(path_, settings, options);
  }
  // The first `count` of them, as evidence of the description alone.
  [[nodiscard]] std::unique_ptr<TriedScenario> evidence(std::size_t count) const {
    RunOptions options;
    options.keep_traces = true;
    options.belief = std::make_shared<const uncertain::Belief>(unconditioned_belief());
    return with(std::vector<double>(count, 1.0), options);
  }

 private:
  explicit KnownRows(std::string path) : path_(std::move(path)) {}

  std::string path_;
  std::unique_ptr<TriedScenario> described_;
  std::vector<std::size_t> several_;
};

bool is_named(const std::vector<PointOutcome>& outcomes, const PointOutcome& outcome) {
  const auto found = contradiction_of(outcomes);
  return found && std::ranges::any_of(found->rows, [&](const FoundContradiction::Row& row) {
           return row.point == outcome.name() && row.known && (row.contradicts || row.counted);
         });
}

// Whether settings of all quantities that are within 99 % of Student's distribution with four
// degrees (4.604 scales, all together) come as far as a row: by trying directions, without the
// product's search. By quantity, its value there; empty: nothing comes so far.
std::string reaching(const Prediction& described, double measured) {
  constexpr double farthest = 4.604;
  constexpr int directions = 300;
  const uncertain::Place& place = described.response.place;
  std::array<double, quantities> scale{};
  for (std::size_t q = 0; q < quantities; ++q) {
    scale[q] = std::sqrt(uncertain::covariance(uncertain::known_priors(), uncertain::unknown_of(q),
                                               place, place, true));
  }
  Random random(17);
  for (int direction = 0; direction < directions; ++direction) {
    // All quantities go the row's way; many of the directions are near an axis.
    std::array<double, quantities> values{};
    double length = 0;
    for (double& value : values) {
      value = random.chance(0.4) ? 0 : random.part();
      length += value * value;
    }
    if (length == 0) continue;
    for (std::size_t q = 0; q < quantities; ++q) {
      values[q] *= std::copysign(scale[q] * farthest / std::sqrt(length), measured);
    }
    const double moved = described.composed(described.response.bounded(values));
    if (std::abs(moved) < std::abs(measured)) continue;
    return fmt::format("{:.3g}", fmt::join(values, ", "));
  }
  return "";
}

// What does not hold of one scenario, each with what it is of.
class Faults {
 public:
  template <class... Figures>
  void add(const char* kind, fmt::format_string<Figures...> text, Figures&&... figures) {
    all_.push_back(
        fmt::format("{}: {}", kind, fmt::format(text, std::forward<Figures>(figures)...)));
  }
  [[nodiscard]] std::string text() const { return fmt::format("{}", fmt::join(all_, "\n  ")); }

 private:
  std::vector<std::string> all_;
};

std::string words_of(const std::vector<double>& times) {
  return fmt::format("rows x{}", fmt::join(times, ", x"));
}

// Rows are met or named; nothing possible is exceeded.
void look_at_run(const KnownRows& rows, const std::vector<double>& times, TriedScenario& run,
                 Faults& faults) {
  const auto& outcomes = run.outcomes();
  for (std::size_t i = 0; i < times.size(); ++i) {
    const PointOutcome& outcome = outcomes[rows.several()[i]];
    const double row = rows.described_step(rows.several()[i]) * times[i];
    const double off = step_of(outcome) / row - 1;
    const bool named = is_named(outcomes, outcome);
    if (std::abs(off) > row_within && !named) {
      faults.add("row", "{}: {} is {:+.1f} % off its row, and no contradiction is named",
                 words_of(times), outcome.name(), 100 * off);
    }
    // What is impossible is in no interval, whoever measured it.
    const Cuts::Longest least =
        least_step(*run.scenario(rows.several()[i]), *run.prepared(rows.several()[i]));
    const StepInterval& interval = outcome.predicted->interval;
    const double inside = std::max(row, least.seconds);
    if (inside < interval.low.value() * (1 - 1e-3) || inside > interval.high.value() * (1 + 1e-3)) {
      faults.add("interval", "{}: {} lies outside its interval, {:.6g} of {:.6g} to {:.6g} s{}",
                 words_of(times), outcome.name(), row, interval.low.value(), interval.high.value(),
                 named ? "; named" : "");
    }
  }
  for (std::size_t point = 0; point < outcomes.size(); ++point) {
    const std::string why = beaten(*run.scenario(point), *run.prepared(point), outcomes[point]);
    if (!why.empty()) faults.add("bound", "{}: {}", words_of(times), why);
  }
}

// With all rows as many times as long, steps rise with these, and lie on the same side of what is
// described as they do. Of each, whether the smallest point's row is named.
std::map<double, bool> look_at_rise(const KnownRows& rows, std::size_t count,
                                    const std::vector<double>& factors, Faults& faults) {
  std::map<double, bool> names;
  std::vector<double> before;
  double factor_before = 0;
  for (const double factor : factors) {
    const std::vector<double> times(count, factor);
    const auto run = rows.with(times);
    if (!run) {
      faults.add("refused", "{}", words_of(times));
      continue;
    }
    look_at_run(rows, times, *run, faults);
    names[factor] = is_named(run->outcomes(), run->outcomes()[rows.several().front()]);
    std::vector<double> steps;
    for (std::size_t point = 0; point < run->outcomes().size(); ++point) {
      const PointOutcome& outcome = run->outcomes()[point];
      steps.push_back(step_of(outcome));
      const double moved = steps.back() / rows.described_step(point);
      const bool is_wrong =
          (factor >= 1 && moved < 1 - smooth_within) || (factor <= 1 && moved > 1 + smooth_within);
      if (is_wrong) {
        faults.add("way", "{}: {} takes {:.4f} times as long as described", words_of(times),
                   outcome.name(), moved);
      }
      if (!before.empty() && steps[point] < before[point] * (1 - smooth_within)) {
        faults.add("monotone", "{}: {} takes {:.4f} times as long as with x{}", words_of(times),
                   outcome.name(), steps[point] / before[point], factor_before);
      }
    }
    before = std::move(steps);
    factor_before = factor;
  }
  return names;
}

// What is named of the smallest point, and what has to be: what is shorter than a measured step of
// one GPU, but not what settings reach.
void look_at_names(const KnownRows& rows, const std::map<double, bool>& names, Faults& faults,
                   std::map<std::string, int>& seen) {
  const std::size_t point = rows.several().front();
  const auto evidence = rows.evidence(1);
  if (!evidence) return;
  const PointOutcome& described = evidence->outcomes()[point];
  const double one_gpu =
      least_of_one_gpu(*evidence->scenario(point), *evidence->prepared(point), described);
  const bool is_measured = described.predicted->response.place.compute_is_measured;
  const double of_wires =
      least_step(*evidence->scenario(point), *evidence->prepared(point)).seconds;
  const double least = is_measured ? std::max(one_gpu, of_wires) : of_wires;
  for (const auto& [factor, named] : names) {
    seen[fmt::format("x{}{}", factor, named ? " named" : "")] += 1;
    const double row = rows.described_step(point) * factor;
    const bool may_be_near = named && factor >= 0.7 && factor <= 1.5 && row >= least;
    const std::string settings =
        may_be_near ? reaching(*described.predicted, std::log(factor)) : "";
    if (!settings.empty()) {
      faults.add("named", "rows x{}: a contradiction is named, and settings reach it: {}", factor,
                 settings);
    }
    const bool is_impossible = is_measured && row < one_gpu * (1 - row_within);
    if (is_impossible && !named) {
      faults.add("unnamed", "rows x{}: {:.6g} s, where one GPU takes {:.6g} s", factor, row,
                 described.one_gpu_step.value());
    }
    if (factor == 0.5) seen[is_impossible ? "x0.5 impossible" : "x0.5 possible"] += 1;
  }
}

// The same is believed whatever the order of rows.
void look_at_order(const KnownRows& rows, const std::vector<double>& times, Faults& faults) {
  const auto evidence = rows.evidence(times.size());
  if (!evidence) return;
  std::vector<uncertain::KnownRow> known;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const Prediction& predicted = *evidence->outcomes()[rows.several()[i]].predicted;
    known.push_back({predicted.response, std::log(times[i]), 0, predicted.composed});
  }
  const uncertain::Belief one(uncertain::known_priors(), known);
  std::ranges::reverse(known);
  const uncertain::Belief other(uncertain::known_priors(), known);
  for (const PointOutcome& outcome : evidence->outcomes()) {
    const auto a = one.of(outcome.predicted->response), b = other.of(outcome.predicted->response);
    const double apart =
        std::max({std::abs(a.moved - b.moved), std::abs(a.low - b.low), std::abs(a.high - b.high)});
    if (apart > smooth_within) {
      faults.add("order", "{}: {} is {:.4f} or {:.4f} ({:+.4f} to {:+.4f}, or {:+.4f} to {:+.4f})",
                 words_of(times), outcome.name(), a.moved, b.moved, a.low, a.high, b.low, b.high);
    }
  }
}

std::string not_held(const KnownRows& rows, Random& random, std::map<std::string, int>& seen) {
  Faults faults;
  const auto names = look_at_rise(rows, 1, {0.5, 0.7, 1, 1.5, 2, 3, 5}, faults);
  look_at_names(rows, names, faults, seen);
  for (std::size_t count = 2; count <= std::min<std::size_t>(rows.several().size(), 3); ++count) {
    look_at_rise(rows, count, {0.7, 1, 1.5, 2.5}, faults);
    std::vector<double> times;
    for (std::size_t i = 0; i < count; ++i) times.push_back(random.spread(0.6, 4));
    if (const auto run = rows.with(times)) look_at_run(rows, times, *run, faults);
    look_at_order(rows, times, faults);
  }
  return faults.text();
}

class KnownRowRelations : public TriedRelation {
 protected:
  KnownRowRelations() : TriedRelation(30) {}

  void TearDown() override {
    TriedRelation::TearDown();
    std::string text;
    for (const auto& [what, count] : seen_) text += fmt::format(" {}: {};", what, count);
    RecordProperty("seen", text);
  }

  void look_at(const std::string& name, const std::string& path, std::uint64_t seed) {
    const auto rows = KnownRows::of(path);
    if (!rows) return;
    Random random(seed);
    count(name, not_held(*rows, random, seen_), path);
  }

  std::map<std::string, int> seen_;
};

TEST_F(KnownRowRelations, RowsHoldOfRandomScenarios) {
  for (std::uint64_t seed = first_; seed < end_; ++seed) {
    if (seed % 10 != 1) continue;
    const Folder folder;
    look_at(std::to_string(seed), folder.write("s.yaml", swept_scenario(seed).text()), seed);
  }
}

// A row of twice the step once said half of it, and one of ten times 90 s.
TEST_F(KnownRowRelations, RowsHoldOverPcieWithPeers) {
  constexpr std::string_view described = R"(schema: paceline/1
name: eight cards on PCIe
contention: off
workload:
  batch_per_gpu: 1
  device: rtx-3090
  layers: [{name: l, forward: 6ms, backward: 13ms, parameters: [5000000]}]
cluster: {preset: pcie-tree-8}
training: {strategy: STRATEGY}
sweep: {gpus: [2, 4, 8]}
)";
  for (const char* strategy : {"ddp", "parameter_server"}) {
    std::string text(described);
    text.replace(text.find("STRATEGY"), 8, strategy);
    const Folder folder;
    look_at(strategy, folder.write("s.yaml", text), 1);
  }
  EXPECT_EQ(tried_, 2);
}

TEST_F(KnownRowRelations, RowsHoldOfShippedScenarios) {
  each_shipped(50, [&](const std::string& name, const std::string& path, std::uint64_t number) {
    look_at(name, path, number);
  });
}

}  // namespace
}  // namespace paceline::test
