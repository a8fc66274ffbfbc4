// What more nodes buy. Steps are made up: they take 1 s on one node, and with each further node a
// part of that longer, whatever the network.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "scenarios/capacity/answer.h"
#include "scenarios/predict/evidence.h"
#include "scenarios/text_form.h"
#include "tests/scenarios/loader/job/small_job.h"

namespace paceline::capacity {
namespace {

// Of nodes with one V100, which all of 64 samples fit.
struct Answered {
  PlannedJob job;
  Grid grid;
  Predictor predictor;
  Answer answer;

  Answered(double longer, const std::string& nodes, const std::string& deadline = "30d")
      : job(test::job_of("schema: paceline.job/1\nname: made\nworkload: {model: resnet18, "
                         "precision: amp}\namount: {samples: 6.4e6}\n"
                         "catalogue: [small.yaml]\nstrategies: [ddp]\nbucket_caps: [25MiB]\n"
                         "batch_per_gpu: {exactly: 64}\ntarget: {deadline: " +
                             deadline +
                             "}\ninput: {kind: none}\noverheads: {start: 0s, mtbf_per_node: "
                             "30y}\nlimits: {nodes: " +
                             nodes + "}\n",
                         "schema: paceline.catalogue/1\nname: small\nsource: made up\n"
                         "date: 2026-11-26\nmachines:\n"
                         "  - {name: one, device: v100-sxm2-16gb, price: 1 USD/h, cluster: "
                         "{preset: flat, network: {bandwidth: 10Gbps, latency: 25us, transport: "
                         "tcp}}}\n")),
        grid(grid_of(job, unconditioned_belief().priors())),
        predictor(job, {}) {
    Search search(
        job, grid, [](const Setup&) { return StepBound{}; },
        [&](std::span<const Setup> setups) {
          std::vector<std::optional<Speed>> speeds;
          (void)predictor.speeds(setups);
          for (const Setup& setup : setups) {
            const Seconds step(1 + longer * (setup.nodes - 1));
            speeds.emplace_back(Speed{step, -1e-9, 1e-9, 4, samples_per_step(job, setup)});
          }
          return speeds;
        });
    answer = answer_of(job, grid, search, predictor);
  }

  [[nodiscard]] std::vector<std::uint32_t> nodes() const {
    std::vector<std::uint32_t> all;
    for (const OfNodes& one : answer.by_nodes) all.push_back(one.nodes);
    return all;
  }
  [[nodiscard]] std::string text() const {
    std::ostringstream out;
    set_text_form(out, {.lists_assumptions = true});
    write_answer(out, job, grid, answer, predictor, {});
    return out.str();
  }
};

using Counts = std::vector<std::uint32_t>;

// 100,000 steps of one node are shared by n, and each takes 1 + 0.02 (n - 1) s: 10 nodes take
// 10,000 x 1.18 = 11,800 s, 11 take 9,091 x 1.2 = 10,909 s. The fewest that are in time are the
// cheapest.
TEST(ByNodes, AreTheEndsPowersOfTwoAndThoseBesideThePlan) {
  const Answered made(0.02, "24", "11000s");
  ASSERT_TRUE(made.answer.best);
  EXPECT_EQ(made.nodes(), (Counts{1, 2, 4, 8, 10, 11, 12, 16, 24}));
  const OfNodes& plan = made.answer.by_nodes[5];
  EXPECT_EQ(plan.row.plan, made.answer.best->plan);
  EXPECT_NEAR(plan.row.promise.limit.value(), 10909.2, 1e-3);
  EXPECT_NEAR(plan.efficiency, 1 / 1.2, 1e-9);
}

// 1 to 128 and 200 are nine, and powers of four with the ends are five; 2 is next to the cheapest.
TEST(ByNodes, AreFewOfManyNodes) {
  EXPECT_EQ(Answered(0.001, "200").nodes(), (Counts{1, 2, 4, 16, 64, 200}));
}

// Time x cost goes as n times the square of the time: with (1 + 0.3 (n - 1))^2 / n as 1, 0.845,
// 0.9025 and 1.042 on 1, 2, 4 and 6 nodes. Of a node 1 / 1.3, 1 / 1.9 and 1 / 2.5 are left. Two
// take 50,000 x 1.3 = 65,000 s, which are 18.06 h and cost 36.11 USD.
TEST(ByNodes, HaveAKneeAndSayFromWhereTheyAreAWaste) {
  const Answered made(0.3, "6");
  EXPECT_EQ(made.nodes(), (Counts{1, 2, 4, 6}));
  EXPECT_EQ(made.answer.knee_nodes, 2U);
  EXPECT_EQ(made.answer.inefficient_from_nodes, 4U);
  EXPECT_NEAR(made.answer.by_nodes[3].efficiency, 0.4, 1e-9);
  const std::string text = made.text();
  for (const char* part : {"  nodes    2: 18 h 3 min and 36.11 USD at 90 %; least time x cost with "
                           "2; efficiency below 70 % from 4 on\n",
                           "small one by number of nodes"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << '\n' << text;
  }
}

// 1 / (1 + 0.01 x 15) = 0.87.
TEST(ByNodes, SayHowEfficientTheMostAreWhereNoneAreAWaste) {
  const Answered made(0.01, "16");
  EXPECT_FALSE(made.answer.inefficient_from_nodes);
  EXPECT_EQ(made.answer.knee_nodes, 16U);
  EXPECT_NE(made.text().find("; efficiency 87 % with 16\n"), std::string::npos) << made.text();
}

TEST(ByNodes, AreNothingWhereOneNumberIsAll) {
  for (const char* nodes : {"1", "{exactly: 3}"}) {
    const Answered made(0.1, nodes);
    EXPECT_TRUE(made.answer.best);
    EXPECT_EQ(made.nodes(), Counts{});
    EXPECT_FALSE(made.answer.knee_nodes);
    EXPECT_EQ(made.text().find("time x cost"), std::string::npos);
  }
}

TEST(ByNodes, AreOfTheNearestPlanWhereNoneMeetsTheTargets) {
  const Answered made(0.1, "4", "10s");
  ASSERT_TRUE(made.answer.nearest);
  EXPECT_EQ(made.nodes(), (Counts{1, 2, 3, 4}));  // the nearest has 4
}

TEST(ByNodes, AreWhatAJobOfExactlySoManyHas) {
  const Answered all(0.3, "6");
  for (const OfNodes& one : all.answer.by_nodes) {
    const Answered exact(0.3, fmt::format("{{exactly: {}}}", one.nodes));
    ASSERT_TRUE(exact.answer.best);
    EXPECT_EQ(exact.answer.best->promise.limit_cost, one.row.promise.limit_cost);
  }
}

}  // namespace
}  // namespace paceline::capacity
