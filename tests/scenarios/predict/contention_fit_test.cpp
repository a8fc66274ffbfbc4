#include "scenarios/predict/contention_fit.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "scenarios/errors.h"
#include "scenarios/measure/loop.h"
#include "scenarios/report/report.h"
#include "tests/scenarios/process.h"

namespace paceline {
namespace {

using End = ContentionFit::End;
using Settings = std::vector<ScenarioFile::Setting>;

// A step of one second, a part of which lies beside collectives, against one that was measured.
struct Step {
  double beside, measured;

  [[nodiscard]] double log_error(double slowdown) const {
    return std::log(measured / (1 + beside * (1 - 1 / slowdown)));
  }
};

struct Fitted {
  std::optional<ContentionFit> fit;
  int tries = 0;
};

Fitted fitted(const std::vector<Step>& steps) {
  Fitted result;
  result.fit = fit_contention([&](double slowdown) {
    ++result.tries;
    std::vector<double> errors;
    for (const Step& step : steps) errors.push_back(step.log_error(slowdown));
    return errors;
  });
  return result;
}

// 1 + 0.5 (1 - 1/f) = 1.2 where f = 1 / (1 - 0.4) = 5/3.
TEST(ContentionFit, FindsTheFactorThatMeetsAPointInFewTries) {
  const auto [fit, tries] = fitted({{0.5, 1.2}});
  ASSERT_TRUE(fit);
  EXPECT_EQ(fit->end, End::met);
  EXPECT_NEAR(fit->slowdown, 5.0 / 3, 1e-3);
  EXPECT_LE(tries, 8);
}

// Equal shares: the factor at which the geometric mean of both is met,
// 1 + 0.5 x = sqrt(1.1 x 1.2), x = 0.29783.
TEST(ContentionFit, LeavesAMeanLogarithmOfNilAtSeveralPoints) {
  const auto [fit, tries] = fitted({{0.5, 1.1}, {0.5, 1.2}});
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->slowdown, 1 / (1 - 0.29783), 1e-3);
  EXPECT_NEAR(fit->log_errors.at(0) + fit->log_errors.at(1), 0, 3e-5);
  EXPECT_NEAR(fit->log_errors.at(1), 0.5 * std::log(1.2 / 1.1), 2e-5);
}

TEST(ContentionFit, IsTheLeastWherePredictionsAreTooSlowWithoutAny) {
  const auto [fit, tries] = fitted({{0.5, 0.9}});
  EXPECT_EQ(fit->end, End::least);
  EXPECT_EQ(fit->slowdown, 1);
}

// The most makes a step of 1.375 s.
TEST(ContentionFit, IsTheMostWherePredictionsAreTooFastWithIt) {
  const auto [fit, tries] = fitted({{0.5, 1.4}});
  EXPECT_EQ(fit->end, End::most);
  EXPECT_EQ(fit->slowdown, fitted_slowdown_max);
}

// 0.6 % of a step beside collectives is 0.45 % with the most.
TEST(ContentionFit, LeavesOutPointsThatNoFactorMoves) {
  const auto [fit, tries] = fitted({{0, 1.3}, {0.5, 1.2}, {0.006, 0.5}});
  ASSERT_TRUE(fit);
  EXPECT_EQ(fit->points, (std::vector<std::size_t>{1}));
  EXPECT_NEAR(fit->slowdown, 5.0 / 3, 1e-3);
  EXPECT_FALSE(fitted({{0, 1.3}}).fit);
}

// A step that is 1.1 s up to a factor of 2 and 1.3 s beyond, of which 1.15 s were measured.
TEST(ContentionFit, TakesTheNearerSideOfAJump) {
  int tries = 0;
  const auto fit = fit_contention([&](double slowdown) {
    ++tries;
    return std::vector<double>{std::log(1.15 / (slowdown <= 2 ? 1.1 : 1.3))};
  });
  ASSERT_TRUE(fit);
  EXPECT_LE(fit->slowdown, 2);
  EXPECT_NEAR(fit->slowdown, 2, 2e-3);
  EXPECT_LE(tries, 22);
}

// Layers whose all-reduces of 24 MB lie beside the backward passes of those before.
constexpr const char* hidden = R"(schema: paceline/1
name: hidden
workload:
  batch_per_gpu: 8
  device: v100-sxm2-16gb
  layers:
    - {name: a, forward: 20ms, backward: 40ms, parameters: [1000000]}
    - {name: b, repeat: 2, forward: 10ms, backward: 30ms, parameters: [6000000]}
cluster: {nodes: 8, gpus_per_node: 1, network: {bandwidth: 1GBps, latency: 10us}}
training: {strategy: wait_free, optimizer: {time: 1ms}}
)";

class Measured : public ::testing::Test {
 protected:
  static constexpr const char* sweep = "sweep: {gpus: [1, 2, 4, 8]}\n";

  std::string write(const std::string& end, const std::string& text = hidden) {
    return folder_.write("scenario.yaml", text + sweep + end);
  }

  static std::vector<PointOutcome> outcomes(const std::string& path, Settings settings,
                                            const std::string& contention, std::size_t jobs = 1) {
    settings.push_back({"contention", contention});
    RunOptions options;
    options.jobs = jobs;
    return run_scenario(ScenarioFile::read(path, settings), options);
  }

  // What a prediction with a factor of 1.3 says, as if it had been measured, and some percent
  // faster at the fitted points.
  static std::string measured(const std::vector<PointOutcome>& truth,
                              const std::vector<std::uint32_t>& fitted, double faster = 1) {
    std::string points;
    for (const PointOutcome& outcome : truth) {
      const bool is_fitted = std::find(fitted.begin(), fitted.end(), outcome.gpus) != fitted.end();
      points += fmt::format(
          "    - {{gpus: {}, throughput: {:.12g} samples/s, known: {}}}\n", outcome.gpus,
          outcome.predicted_throughput().value() * (is_fitted ? faster : 1), is_fitted);
    }
    return "measured:\n  source: a prediction\n  points:\n" + points;
  }

  static std::string contention_of(const PointOutcome& outcome) {
    std::string found;
    for (const std::string& one : outcome.assumptions) {
      if (one.starts_with("contention: ")) found += one;
    }
    return found;
  }

  static void expect_found(const std::vector<PointOutcome>& found) {
    for (const PointOutcome& outcome : found) {
      EXPECT_NEAR(*outcome.error_percent(), 0, 0.02) << outcome.gpus;
      EXPECT_EQ(contention_of(outcome),
                "contention: compute beside a collective takes 1.30 times as long, fitted to gpus "
                "2")
          << outcome.gpus;
      EXPECT_EQ(outcome.counts(), outcome.gpus > 2) << outcome.gpus;
    }
  }

  test::Folder folder_;
};

TEST_F(Measured, FindsTheFactorThatMadeThePointsInEveryFidelity) {
  for (const char* fidelity : {"flow", "folded", "closed"}) {
    SCOPED_TRACE(fidelity);
    const Settings settings{{"simulation.fidelity", fidelity}};
    const auto off = outcomes(write(""), settings, "off");
    const auto truth = outcomes(write(""), settings, "1.3");
    // Something is hidden: the factor matters at every point with a collective.
    EXPECT_GT(truth[3].predicted->totals.step / off[3].predicted->totals.step, 1.01);
    expect_found(outcomes(write(measured(truth, {2})), settings, "measured"));
  }
}

// A prediction with the fitted factor is that of the same factor as a number.
TEST_F(Measured, EqualsTheFactorAsANumberWithItsInterval) {
  const auto truth = outcomes(write(""), {}, "1.3");
  const auto found = outcomes(write(measured(truth, {4})), {}, "measured");
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double longer = found[i].predicted->totals.step / truth[i].predicted->totals.step;
    EXPECT_NEAR(longer, 1, 1e-4);
    EXPECT_NEAR(found[i].predicted->interval.high / found[i].predicted->interval.low,
                truth[i].predicted->interval.high / truth[i].predicted->interval.low, 1e-3);
  }
}

TEST_F(Measured, IsTheSameWhateverTheJobsAndEveryTime) {
  const auto truth = outcomes(write(""), {}, "1.3");
  const auto path = write(measured(truth, {2, 8}, 1.005));
  const auto one = outcomes(path, {}, "measured", 1), three = outcomes(path, {}, "measured", 3);
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].predicted->totals.step, three[i].predicted->totals.step);
    EXPECT_EQ(one[i].assumptions, three[i].assumptions);
  }
}

TEST_F(Measured, MeetsSeveralPointsInTheMeanAndSaysWhatIsLeft) {
  auto truth = outcomes(write(""), {}, "1.3");
  std::string text = measured(truth, {2, 8});
  const auto fast = measured({truth[1]}, {2}, 1.02), exact = measured({truth[1]}, {2});
  const auto line = [](const std::string& points) { return points.substr(points.find("    - ")); };
  text.replace(text.find(line(exact)), line(exact).size(), line(fast));
  const auto found = outcomes(write(text), {}, "measured");
  const auto log_error = [&](std::size_t i) { return std::log1p(*found[i].error_percent() / 100); };
  EXPECT_NEAR(log_error(1) + log_error(3), 0, 3e-5);
  EXPECT_LT(log_error(1), -0.005);
  const double left =
      (std::abs(*found[1].error_percent()) + std::abs(*found[3].error_percent())) / 2;
  EXPECT_TRUE(contention_of(found[2]).ends_with(
      fmt::format("fitted to gpus 2, gpus 8, where a mean |error| of {:.1f}% is left", left)))
      << contention_of(found[2]);
}

// Points of other axes, too, take the one factor; those of a sweep over contention keep theirs.
TEST_F(Measured, MayBeOneOfASweepOverContention) {
  const auto truth = outcomes(write(""), {}, "1.3");
  const std::string of_two = fmt::format(
      "{{gpus: 2, contention: measured, throughput: {:.12g} "
      "samples/s, known: true}}",
      truth[1].predicted_throughput().value());
  const auto path = folder_.write(
      "sweep.yaml", std::string(hidden) +
                        "sweep: {contention: [off, 1.3, measured], gpus: [2, 8]}\n" +
                        "measured: {source: a prediction, points: [" + of_two + "]}\n");
  std::vector<std::size_t> done;
  RunOptions options;
  options.progress = [&](const Progress& now) {
    if (now.doing.empty() && !now.is_over) done.push_back(now.done);
  };
  const auto found = run_scenario(ScenarioFile::read(path, {}), options);
  const auto step = [&](std::size_t i) { return found[i].predicted->totals.step.value(); };
  EXPECT_LT(step(1), 0.99 * step(3));
  EXPECT_NEAR(step(5) / step(3), 1, 1e-4);
  EXPECT_EQ(done, (std::vector<std::size_t>{1, 2, 3, 4, 5, 6}));
}

// Steps 1.05 times as fast as without contention, and 0.95 times as fast as with the most.
TEST_F(Measured, SaysWhatNoFactorMeets) {
  const auto off = outcomes(write(""), {}, "off"), most = outcomes(write(""), {}, "4");
  const auto slow = outcomes(write(measured(off, {8}, 1.05)), {}, "measured");
  EXPECT_EQ(slow[3].predicted->totals.step, off[3].predicted->totals.step);
  EXPECT_EQ(contention_of(slow[1]),
            "contention: compute beside a collective takes 1.00 times as long, fitted to gpus 8: "
            "predicted 4.8% too slow there even so");  // 1 - 1/1.05
  const auto fast = outcomes(write(measured(most, {8}, 0.95)), {}, "measured");
  EXPECT_EQ(fast[3].predicted->totals.step, most[3].predicted->totals.step);
  EXPECT_EQ(contention_of(fast[1]),
            "contention: compute beside a collective takes 4.00 times as long, fitted to gpus 8: "
            "the most that is fitted, predicted 5.3% too fast there even so");  // 1/0.95 - 1
}

void expect_refused(const std::string& path, const std::string& start) {
  try {
    (void)run_scenario(ScenarioFile::read(path, {}), {});
    FAIL() << "not refused";
  } catch (const InputError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find(start), std::string::npos) << text;
  }
}

TEST_F(Measured, NeedsAPointOfSeveralGpusToFit) {
  const std::string key = "contention: measured\n";
  const auto truth = outcomes(write(""), {}, "1.3");
  const std::string none = "scenario.yaml:12:13: contention is measured, but no measured point";
  expect_refused(write(key, hidden), none);
  expect_refused(write(key + measured(truth, {}), hidden), none);
  expect_refused(write(key + measured(truth, {1}), hidden), none);
}

// Nothing is overlapped: no factor changes anything.
TEST_F(Measured, NeedsAPointWithComputeBesideCollectives) {
  std::string serial = hidden;
  serial.replace(serial.find("wait_free"), 9, "bulk_synchronous");
  const auto path = folder_.write("plain.yaml", serial + sweep);
  const auto truth = outcomes(path, {}, "off");
  expect_refused(write("contention: measured\n" + measured(truth, {8}, 0.9), serial),
                 "scenario.yaml:12:13: contention is measured, but no factor moves a fitted point");
}

TEST_F(Measured, IsNotForTheLoop) {
  const auto path = write("contention: measured\n");
  EXPECT_THROW((void)validate_by_loop(path, {}, {}), InputError);
}

// The line is among what a result file says was assumed.
TEST_F(Measured, IsInTheResultFileAndInTheTables) {
  const auto truth = outcomes(write(""), {}, "1.3");
  write("contention: measured\n" + measured(truth, {2}));
  const auto json =
      test::paceline({"run", "scenario.yaml", "--json", "-", "--jobs", "2"}, folder_.path());
  EXPECT_EQ(json.exit_code, 0) << json.err;
  EXPECT_NE(json.out.find("takes 1.30 times as long, fitted to gpus 2"), std::string::npos);
  const auto table = test::paceline({"validate", "scenario.yaml"}, folder_.path());
  EXPECT_EQ(table.exit_code, 0) << table.err;
  EXPECT_EQ(table.out.find("gpus=2"), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("gpus=8"), std::string::npos) << table.out;
}

}  // namespace
}  // namespace paceline
