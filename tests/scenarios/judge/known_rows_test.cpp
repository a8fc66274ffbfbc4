// Rows that are known, and what is predicted beside them: on rows made by hand.

#include <gtest/gtest.h>

#include <cmath>

#include "scenarios/judge/left_out.h"

namespace paceline {
namespace known_rows_test {

using uncertain::LinkClass;
using uncertain::Unknown;

// On two and more nodes of one GPU each, over RDMA; predicted to take 1 s, all of it calls;
// measured e^log times as long.
ValidationRow measured_row(double log, double log2_nodes, const std::string& scenario = "s") {
  ValidationRow made{scenario, "a point", "a"};
  made.response.step = Seconds(1);
  made.measured_step = Seconds(std::exp(log));
  made.error_percent = 100 * std::expm1(log);
  made.response.place = {.log2_ranks = log2_nodes, .log2_nodes = log2_nodes};
  made.response.curves[static_cast<std::size_t>(Unknown::network)] =
      uncertain::Curve({{-1, -1}, {1, 1}});
  return made;
}

// Links 0.3 apart, rows 0.1.
uncertain::Priors of_rdma() {
  uncertain::Priors priors;
  priors.links[static_cast<std::size_t>(LinkClass::rdma)] = 0.3;
  priors.row = 0.1;
  return priors;
}

JudgedRow between(double low, double high, double measured) {
  JudgedRow made{.scenario = "a", .links = LinkClass::rdma};
  made.measured = measured;
  made.low = low;
  made.high = high;
  return made;
}

// The interval is -0.1 to 0.2: 0 is within it; 0.25 is 0.05 above, which costs 20 times as much.
TEST(IntervalFigures, AreCoverageWidthAndScore) {
  const IntervalFigures both = figures_of({between(-0.1, 0.2, 0), between(-0.1, 0.2, 0.25)});
  EXPECT_DOUBLE_EQ(both.coverage_percent, 50);
  EXPECT_NEAR(both.width_percent, 100 * std::expm1(0.3), 1e-9);
  EXPECT_NEAR(both.score, 0.3 + 20 * 0.05 / 2, 1e-9);
  EXPECT_NEAR(figures_of({between(-0.1, 0.2, -0.12)}).score, 0.3 + 20 * 0.02, 1e-9);
  EXPECT_EQ(figures_of({}).score, 0);
}

// The median of widths of 0.1, 0.3 and 0.9.
TEST(IntervalFigures, HaveTheMedianWidth) {
  const IntervalFigures all =
      figures_of({between(0, 0.1, 0), between(-0.3, 0, 0), between(0, 0.9, 0)});
  EXPECT_NEAR(all.width_percent, 100 * std::expm1(0.3), 1e-9);
}

TEST(KnownRows, AreNoneWhereNothingIsKnown) {
  const auto judged = judge_rows({measured_row(0.2, 1), measured_row(0.3, 2)}, of_rdma(), 0);
  ASSERT_EQ(judged.size(), 2U);
  EXPECT_NEAR(judged[0].measured, 0.2, 1e-12);
  EXPECT_NEAR(judged[1].measured, 0.3, 1e-12);
  EXPECT_NEAR(judged[1].error, judged[1].unconditioned, 1e-9);
  EXPECT_NEAR(judged[1].high, 2.131846786 * std::hypot(0.3, 0.1), 1e-8);
  EXPECT_EQ(judged[1].links, LinkClass::rdma);
}

// Two nodes were 0.3 slower: links 0.27 by the mean of 0.09 / (0.09 + 0.01) of it, and so are those
// of four; 0.03 of them are left.
TEST(KnownRows, MoveTheOthersOfTheirScenario) {
  const std::vector<ValidationRow> rows{measured_row(0.3, 2), measured_row(0.3, 1),
                                        measured_row(0.5, 1, "alone")};
  const auto judged = judge_rows(rows, of_rdma(), 1);
  ASSERT_EQ(judged.size(), 1U);  // no row is left beside the one that is alone
  EXPECT_NEAR(judged[0].measured, 0.03, 1e-9);
  EXPECT_NEAR(judged[0].error, 100 * std::expm1(0.03), 1e-6);
  EXPECT_NEAR(judged[0].unconditioned, 100 * std::expm1(0.3), 1e-9);
  // The last known step once more, as if more nodes were free.
  EXPECT_NEAR(judged[0].constant_efficiency, 0, 1e-9);
}

// Measured 0.9 s on two nodes, 0.5 s of them one GPU's: 0.4 s of communication, predicted 0.2 s.
// The other has 0.3 s of it, so 0.6 s and the 0.5; it took 1 s.
TEST(KnownRows, GiveNoOverlapItsFactor) {
  ValidationRow known = measured_row(0, 1), other = measured_row(0, 2);
  for (ValidationRow* row : {&known, &other}) row->one_gpu_step = Seconds(0.5);
  known.measured_step = Seconds(0.9);
  known.communication = Seconds(0.2);
  other.communication = Seconds(0.3);
  const auto judged = judge_rows({known, other}, of_rdma(), 1);
  ASSERT_EQ(judged.size(), 1U);
  EXPECT_NEAR(judged[0].no_overlap, 100 * (1 / 1.1 - 1), 1e-9);
  EXPECT_NEAR(judged[0].constant_efficiency, 100 * (1 / 0.9 - 1), 1e-9);
}

TEST(KnownRows, OfTwoLeaveTheThird) {
  const auto judged =
      judge_rows({measured_row(0.2, 1), measured_row(0.4, 2), measured_row(0.3, 3)}, of_rdma(), 2);
  ASSERT_EQ(judged.size(), 1U);
  // Two looks at one value: their mean, by 0.09 / (0.09 + 0.005).
  EXPECT_NEAR(judged[0].measured, 0.3 - 0.3 * 0.09 / 0.095, 1e-9);
}

TEST(Evidence, IsOfRowsByScenarioAndSource) {
  const std::vector<ValidationRow> rows{measured_row(0.2, 1), measured_row(0.4, 1, "t"),
                                        measured_row(0.3, 2)};
  const auto evidence = evidence_of(rows);
  ASSERT_EQ(evidence.size(), 2U);
  ASSERT_EQ(evidence[0].size(), 2U);
  EXPECT_NEAR(evidence[0][1].measured, 0.3, 1e-12);
  EXPECT_EQ(evidence[0][1].response.place.log2_nodes, 2);
  EXPECT_NEAR(evidence[1][0].measured, 0.4, 1e-12);
  const auto sources = evidence_of(RowsBySource{{"a", rows}, {"b", {measured_row(0, 1)}}});
  EXPECT_EQ(sources.at("a").size(), 2U);
  EXPECT_EQ(sources.at("b").size(), 1U);
}

TEST(EasyRows, AreWhereBothNullsAreAlike) {
  ValidationRow row = measured_row(0, 1);
  EXPECT_TRUE(is_easy(row));
  row.perfect_scaling_percent = 4;
  row.no_overlap_percent = -7;
  EXPECT_FALSE(is_easy(row));
}

}  // namespace known_rows_test
}  // namespace paceline
