#include "scenarios/capacity/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <string>
#include <string_view>

#include "models/stats/student.h"
#include "scenarios/capacity/answer.h"
#include "scenarios/process/stop_request.h"
#include "tests/scenarios/capacity/against_oracle.h"

namespace paceline::capacity {
namespace {

using test::AgainstOracle;
using test::Foretold;
using test::JobDrawer;

// tests/bench/capacity_grid.cpp has 200 jobs of up to 8 nodes.
TEST(Search, FindsWhatAWholeGridHasOfRandomJobs) {
  Foretold foretold;
  std::size_t setups = 0, predicted = 0, answered = 0, by_nodes = 0;
  constexpr std::uint64_t jobs = 20, nodes = 2;
  for (std::uint64_t number = 0; number < jobs; ++number) {
    const test::DrawnJob drawn = JobDrawer(number).draw(nodes);
    const AgainstOracle against(drawn, foretold);
    for (const std::string& difference : against.differences()) {
      ADD_FAILURE() << "job " << number << ": " << difference << '\n'
                    << drawn.job << drawn.catalogue;
    }
    setups += against.setups();
    predicted += against.predicted();
    by_nodes += against.rows_by_nodes();
    if (against.has_answer()) ++answered;
  }
  EXPECT_GT(answered, jobs / 5);
  EXPECT_LT(answered, jobs);
  EXPECT_GT(setups, jobs * 40);
  EXPECT_GT(by_nodes, jobs / 2);
  EXPECT_LT(predicted, setups / 2);  // small grids have much of them predicted for their fronts
}

// Predictions are made up here: steps of 1.1 times their bounds.
struct Made {
  PlannedJob job;
  Grid grid;
  std::size_t predicted = 0;

  Made(std::string_view price, std::string_view rest)
      : job(test::job_of("schema: paceline.job/1\nname: made\nworkload: {model: resnet50, "
                         "precision: amp}\namount: {samples: 1e8}\ncatalogue: [small.yaml]\n"
                         "batch_per_gpu: {at_most: 256}\nlimits: {nodes: 8}\n" +
                             std::string(rest),
                         "schema: paceline.catalogue/1\nname: small\nsource: made up\n"
                         "date: 2026-11-26\nmachines: [{name: eight, cluster: {preset: "
                         "aws-p4d-24xlarge}, price: " +
                             std::string(price) + "}]\n")),
        grid(grid_of(job, unconditioned_belief().priors())) {}

  [[nodiscard]] Search search() {
    return {job, grid, [](const capacity::Setup&) { return StepBound{}; },
            [this](std::span<const Setup> setups) {
              std::vector<std::optional<Speed>> speeds;
              for (const Setup& setup : setups) {
                const auto of = std::ranges::find(grid.candidates, setup, &Candidate::setup);
                speeds.emplace_back(Speed{of->step_at_least.limit * 1.1, -0.01, 0.01, 4,
                                          samples_per_step(job, setup)});
              }
              predicted += speeds.size();
              return speeds;
            }};
  }
};

// A minute between failures and ten days until the first step.
constexpr std::string_view endless =
    "overheads: {start: 10d, mtbf_per_node: 1min}\ntarget: {throughput: 1 samples/s}\n";

TEST(Search, FindsNoPlanThatNeverEnds) {
  for (const char* price : {"20 USD/h", "0 USD/h"}) {
    Made made(price, endless);
    Search search = made.search();
    EXPECT_FALSE(search.best({Aim::cheapest, made.job.targets, {}}));
    EXPECT_FALSE(search.best({Aim::fastest, {}, {}}));
    EXPECT_FALSE(search.best({Aim::nearest, made.job.targets, {}}));
    EXPECT_EQ(made.predicted, 0U);
    const auto promise = *search.promise({0, Pricing::on_demand}, made.job.targets);
    EXPECT_EQ(promise.limit_cost.value(), std::numeric_limits<double>::infinity());
    EXPECT_EQ(promise.median_cost.value(), std::numeric_limits<double>::infinity());
    EXPECT_EQ(promise.probability, 0);
  }
}

// A checkpoint of an hour every three and a half: of work that is likely done before, none is made,
// though with the probability asked for it may take longer than that.
TEST(Search, BoundsNoPlanByCheckpointsThatItDoesNotMake) {
  Made made("20 USD/h", "target: {deadline: 1y}\n");
  Candidate only = made.grid.candidates.front();
  const Seconds bound = only.step_at_least.limit;
  only.step_at_least.median = bound * 0.7;
  made.grid.candidates = {only};
  const double samples = samples_per_step(made.job, only.setup);
  const Seconds work = bound * std::ceil(made.job.samples / samples);
  made.job.overheads.checkpoint = Checkpoints{work * 0.9, work};
  made.job.overheads.start = Seconds(0);
  made.job.overheads.mtbf_per_node = work * 1e9;
  made.job.targets.deadline = work * 1.1;
  // Likely 0.8 of the bound's work, within 1.05 of it with 90 %.
  const double high =
      std::log(1.05 / 0.8) * stats::student_quantile(0.95, 4) / stats::student_quantile(0.9, 4);
  Search search{made.job, made.grid, [](const capacity::Setup&) { return StepBound{}; },
                [&](std::span<const capacity::Setup> setups) {
                  const Speed speed{bound * 0.8, -0.1, high, 4, samples};
                  return std::vector<std::optional<Speed>>(setups.size(), speed);
                }};
  EXPECT_TRUE(search.best({Aim::cheapest, made.job.targets, {}}));
}

// What is free is within any budget, and losses spoil no budget of it.
TEST(Search, TakesWhatIsFreeForWithinAnyBudget) {
  Made made("0 USD/h",
            "overheads: {mtbf_per_node: 100h, checkpoint: {every: 1h, takes: 10s}}\n"
            "target: {budget: 0 USD}\n");
  Search search = made.search();
  const auto best = search.best({Aim::cheapest, made.job.targets, {}});
  ASSERT_TRUE(best);
  EXPECT_EQ(search.promise(*best, made.job.targets)->probability, 1);
}

// Losses spoil the deadline of one run, steps the throughput of another.
TEST(Search, AsksForAllTargetsTogether) {
  Made made("20 USD/h",
            "target: {deadline: 1y}\noverheads: {mtbf_per_node: 100h, checkpoint: {every: 1h, "
            "takes: 10s}}\n");
  Search search = made.search();
  const Plan plan{0, Pricing::on_demand};
  const Promise free = *search.promise(plan, {});
  Targets both;
  both.deadline = free.limit;
  both.throughput = free.limit_throughput;
  const double together = search.promise(plan, both)->probability;
  EXPECT_LE(together, made.job.probability + 1e-6);
  EXPECT_GT(together, made.job.probability - 0.1);
}

// All cost nothing: the fastest of them, which is found as such.
TEST(Search, PredictsFewOfManyThatCostTheSame) {
  Made made("0 USD/h", "target: {deadline: 100d}\n");
  Search search = made.search();
  const auto cheapest = search.best({Aim::cheapest, made.job.targets, {}});
  EXPECT_LT(made.predicted, made.grid.candidates.size() / 4);
  EXPECT_EQ(cheapest, search.best({Aim::fastest, {}, {}}));
}

// All exceed it by as much: the cheapest, for which no more has to be predicted.
TEST(Search, FindsTheCheapestWhereABudgetIsNothing) {
  Made made("20 USD/h", "target: {budget: 0 USD}\n");
  Search search = made.search();
  EXPECT_FALSE(search.best({Aim::fastest, made.job.targets, {}}));
  const auto nearest = search.best({Aim::nearest, made.job.targets, {}});
  const std::size_t predicted = made.predicted;
  EXPECT_LT(predicted, made.grid.candidates.size());
  EXPECT_EQ(nearest, search.best({Aim::cheapest, {}, {}}));
  EXPECT_EQ(made.predicted, predicted);
}

// Stopped while it looks for the best: of what was predicted by then, as the best of the whole grid
// is among the first; and nothing of what was not.
TEST(Answer, IsOfWhatWasPredictedUntilItWasStopped) {
  Made made("20 USD/h", "target: {deadline: 100d}\n");
  Predictor predictor(made.job, {});
  const auto answered = [&](std::size_t calls_most) {
    std::size_t calls = 0;
    Search search(
        made.job, made.grid,
        [&](const capacity::Setup& one) { return predictor.step_at_least(one); },
        [&](std::span<const capacity::Setup> setups) {
          if (calls++ == calls_most) throw Stopped();
          return predictor.speeds(setups);
        });
    return answer_of(made.job, made.grid, search, predictor);
  };
  EXPECT_THROW(answered(0), Stopped);
  const Answer whole = answered(1'000'000), part = answered(1);
  EXPECT_TRUE(whole.is_complete);
  EXPECT_FALSE(part.is_complete);
  EXPECT_LT(part.predicted, whole.predicted);
  ASSERT_TRUE(part.best);
  EXPECT_GE(part.best->promise.limit_cost, whole.best->promise.limit_cost);
  std::ostringstream out;
  write_answer(out, made.job, made.grid, part, predictor, {});
  EXPECT_NE(out.str().find(fmt::format("\nunfinished: {} of ", part.predicted)), std::string::npos);
  EXPECT_EQ(out.str().find("no other of the grid can be better"), std::string::npos);
}

// Servers are one more host for each node there, and stand in no catalogue.
TEST(Predictor, RefusesHostsThatHaveNoPrice) {
  const Made made("20 USD/h", "target: {deadline: 100d}\nstrategies: [parameter_server]\n");
  Predictor predictor(made.job, {});
  const std::vector<capacity::Setup> setups{{0, 1, 0, 64, 1}, {0, 2, 0, 64, 1}};
  EXPECT_EQ(predictor.step_at_least(setups[1]).limit.value(),
            std::numeric_limits<double>::infinity());
  const auto speeds = predictor.speeds(setups);
  EXPECT_TRUE(speeds[0]);
  EXPECT_FALSE(speeds[1]);
  EXPECT_EQ(predictor.first_refusal(),
            "has 2 servers on hosts of their own, which have no price; take server_hosts: "
            "beside_workers");
}

}  // namespace
}  // namespace paceline::capacity
