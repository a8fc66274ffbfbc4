#include "scenarios/claims/verdict.h"

#include <gtest/gtest.h>

#include <string>

namespace paceline::claims {
namespace verdict_test {

// A claim of 10 % or more at each pair of latency and GPUs; `values` in the order of the grid, -1
// for a condition that does not count.
Finding of(std::vector<double> values) {
  Claim claim;
  claim.quantity = Quantity::time_saved;
  claim.claimed = {0.1, std::nullopt};
  claim.conditions = {{"cluster.network.latency", {"1us", "1ms", "5ms"}}, {"gpus", {"8", "16"}}};
  std::vector<Trial> trials;
  for (std::size_t i = 0; i < values.size(); ++i) {
    Trial& trial = trials.emplace_back();
    trial.at = {i / 2, i % 2};
    trial.exposed_before = 0.05;
    if (values[i] < 0) {
      trial.left_out = "refused";
    } else {
      trial.value = values[i];
      trial.holds = values[i] >= 0.1;
    }
  }
  return judge(std::move(claim), std::move(trials));
}

TEST(Verdict, HoldsWhereAllConditionsThatCountHold) {
  const Finding finding = of({0.1, 0.2, -1, 0.15, 0.3, 0.2});
  EXPECT_EQ(finding.verdict, Verdict::holds);
  EXPECT_EQ(finding.counted, 5U);
  EXPECT_EQ(finding.held, 5U);
  EXPECT_EQ(finding.reason, "10.0 % to 30.0 % wherever it was tried");
}

TEST(Verdict, DoesNotHoldWhereNoneDoes) {
  const Finding finding = of({0, 0.01, 0.02, 0.03, 0.04, 0.05});
  EXPECT_EQ(finding.verdict, Verdict::does_not_hold);
  EXPECT_EQ(finding.reason,
            "0.0 % to 5.0 % is less than claimed; at most 5.0 % of the step before is exposed "
            "communication");
}

TEST(Verdict, NamesTheRangeWhereItHolds) {
  const Finding by_latency = of({0.01, 0.02, 0.03, 0.04, 0.2, 0.3});
  EXPECT_EQ(by_latency.verdict, Verdict::holds_if);
  EXPECT_EQ(by_latency.reason,
            "latency is 5ms or more: 20.0 % to 30.0 % there, 1.0 % to 4.0 % "
            "elsewhere");
  EXPECT_EQ(of({0.2, 0.2, 0.2, 0.2, 0, 0}).where.value().text, "latency is 1ms or less");
  EXPECT_EQ(of({0, 0, 0.2, 0.2, 0, 0}).where.value().text, "latency is 1ms");
  EXPECT_EQ(of({0, 0.2, 0, 0.2, 0, 0.2}).where.value().text, "gpus is 16 or more");
  EXPECT_EQ(of({0, 0, 0, 0.2, 0, 0.2}).where.value().text,
            "latency is 1ms or more and gpus is 16 or more");
}

// 5 of 6 hold: latency of 1 ms or more has 4 of them, 16 GPUs has 3. The fifth is said.
TEST(Verdict, SaysWhatHoldsElsewhere) {
  const Finding finding = of({0, 0.2, 0.2, 0.2, 0.2, 0.2});
  EXPECT_EQ(finding.reason,
            "latency is 1ms or more: 20.0 % there, 0.0 % to 20.0 % elsewhere, "
            "where it holds at 1 of 2");
}

TEST(Verdict, CannotBeToldWhereWhatDecidesIsNotModelled) {
  Claim claim = of({0.2, 0.2, 0.2, 0.2, 0.2, 0.2}).claim;
  claim.not_modelled = "the host";
  const Finding finding = judge(claim, of({0.2, 0.2, 0.2, 0.2, 0.2, 0.2}).trials);
  EXPECT_EQ(finding.verdict, Verdict::cannot_be_told);
  EXPECT_EQ(finding.reason, "the host");
  EXPECT_EQ(of({-1, -1, -1, -1, -1, -1}).reason, "no condition counts: refused");
}

// A third axis decides: no range of two says where. 1 of 8 each below and above.
TEST(Verdict, DoesNotHoldWhereNoRangeOfTwoConditionsSaysWhere) {
  Claim claim;
  claim.quantity = Quantity::speedup;
  claim.claimed = {2.0, 3.0};
  claim.conditions = {{"a", {"1", "2"}}, {"b", {"1", "2"}}, {"c", {"1", "2"}}};
  std::vector<Trial> trials;
  for (std::size_t i = 0; i < 8; ++i) {
    const std::size_t a = i / 4, b = i / 2 % 2, c = i % 2;
    Trial& trial = trials.emplace_back();
    trial.at = {a, b, c};
    trial.holds = (a + b + c) % 2 == 0;
    trial.value = trial.holds ? 2.5 : (i == 1 ? 1.0 : 4.0);
  }
  const Finding finding = judge(claim, trials);
  EXPECT_EQ(finding.verdict, Verdict::does_not_hold);
  EXPECT_EQ(finding.reason,
            "1.00x to 4.00x: less than claimed at 1, in the range at 4, more at 3 of 8");
}

TEST(Verdict, WorksWithOneAxis) {
  Claim claim;
  claim.quantity = Quantity::speedup;
  claim.claimed = {2.0, std::nullopt};
  claim.conditions = {{"training.strategy", {"ddp", "fsdp", "wait_free"}}};
  std::vector<Trial> trials(3);
  for (std::size_t i = 0; i < 3; ++i) {
    trials[i].at = {i};
    trials[i].value = i == 1 ? 1.0 : 3.0;
    trials[i].holds = i != 1;
  }
  EXPECT_EQ(judge(claim, trials).where.value().text, "strategy is ddp, wait_free");
}

TEST(Verdict, WritesRanges) {
  EXPECT_EQ(to_text(Quantity::speedup, Range{2.0, 3.0}), "2.00x to 3.00x");
  EXPECT_EQ(to_text(Quantity::time_saved, Range{0.1, std::nullopt}), "10.0 % or more");
  EXPECT_EQ(to_text(Quantity::time_saved, Range{std::nullopt, 0.1}), "10.0 % or less");
}

}  // namespace verdict_test
}  // namespace paceline::claims
