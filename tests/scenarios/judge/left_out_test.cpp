// The judge that leaves sources out: on rows made by hand.

#include "scenarios/judge/left_out.h"

#include <gtest/gtest.h>

#include "scenarios/errors.h"

namespace paceline {
namespace left_out_test {

ValidationRow row(const std::string& source, double error_percent) {
  ValidationRow made{"s", "gpus=8", source};
  made.error_percent = error_percent;
  made.measured_step = Seconds(1);
  made.response.step = made.measured_step / (1 + error_percent / 100);
  made.one_gpu_step = Seconds(0.5);
  made.communication = Seconds(0.25);
  return made;
}

TEST(LeftOut, TakesSourcesApartAndWantsThemNamed) {
  const std::vector<ValidationRow> rows{row("a", 1), row("b", 2), row("a", 3)};
  const RowsBySource sources = by_source(rows);
  EXPECT_EQ(sources.at("a").size(), 2U);
  EXPECT_EQ(sources.at("b").size(), 1U);
  EXPECT_THROW((void)by_source(std::vector<ValidationRow>{row("", 1)}), InputError);
}

// Two candidates: the first is right on a, which has most rows, the second on b and c. Each source
// is judged with what the others choose; sources count alike, however many rows they have.
TEST(LeftOut, JudgesWithWhatTheOthersChoose) {
  const auto candidate = [](double a, double b, double c) {
    std::vector<ValidationRow> rows{row("b", b), row("c", c)};
    for (int i = 0; i < 10; ++i) rows.push_back(row("a", i % 2 == 0 ? a : -a));
    return by_source(rows);
  };
  const std::vector<RowsBySource> candidates{candidate(1, 20, 10), candidate(12, 2, 4)};
  const LeftOut judged = leave_out_sources(candidates);
  ASSERT_EQ(judged.sources.size(), 3U);
  // a: the others have 15 and 3; b: 5.5 and 8; c: 10.5 and 7.
  EXPECT_EQ(judged.sources[0].chosen, 1U);
  EXPECT_EQ(judged.sources[1].chosen, 0U);
  EXPECT_EQ(judged.sources[2].chosen, 1U);
  EXPECT_NEAR(judged.sources[0].predicted.mean_absolute, 12, 1e-9);
  EXPECT_NEAR(judged.sources[0].predicted.bias, 0, 1e-9);
  EXPECT_NEAR(judged.sources[1].predicted.mean_absolute, 20, 1e-9);
  EXPECT_NEAR(judged.sources[2].predicted.mean_absolute, 4, 1e-9);
  EXPECT_NEAR(judged.mean_percent, 12, 1e-9);
  // All together: 31 / 3 and 6.
  EXPECT_EQ(judged.chosen_by_all, 1U);
  EXPECT_NEAR(judged.sources[1].in_sample.mean_absolute, 2, 1e-9);
  EXPECT_GE(judged.mean_low_percent, 4);
  EXPECT_LE(judged.mean_high_percent, 20);
  EXPECT_LT(judged.mean_low_percent, judged.mean_percent);
  EXPECT_GT(judged.mean_high_percent, judged.mean_percent);
}

// Steps made with 10 % of wrapper and 40 % hidden: found again, without the source that is left
// out.
TEST(LeftOut, FitsTheConstantOverlapToTheOthers) {
  std::vector<ValidationRow> rows;
  for (const double communication : {0.1, 0.4, 0.9}) {
    for (const char* source : {"a", "b"}) {
      ValidationRow made = row(source, 0);
      made.communication = Seconds(communication);
      made.measured_step = Seconds(0.5 * 1.1 + communication * 0.6);
      rows.push_back(made);
    }
  }
  rows.push_back(row("odd", 0));
  const LeftOut judged = leave_out_sources(std::vector<RowsBySource>{by_source(rows)});
  const LeftOutSource& odd = judged.sources.back();
  EXPECT_NEAR(odd.others_overlap.wrapper, 0.1, 1e-9);
  EXPECT_NEAR(odd.others_overlap.hidden, 0.4, 1e-9);
  // Measured 1 s, and 0.55 + 0.15 by what the others fit.
  EXPECT_NEAR(odd.constant_overlap.mean_absolute, 100 * (1 / 0.7 - 1), 1e-9);
}

// What is exposed is 0.25 s predicted and 0.5 s measured: a factor of 2 makes it right.
TEST(LeftOut, HasAnOracleWithAFactorForEachSource) {
  const std::vector<ValidationRow> rows{row("a", 33), row("a", 33), row("b", 33)};
  const LeftOut judged = leave_out_sources(std::vector<RowsBySource>{by_source(rows)});
  EXPECT_NEAR(judged.sources[0].oracle.mean_absolute, 0, 2);
  EXPECT_EQ(judged.sources[0].oracle.points, 2U);
}

// One machine each, of two rows: with one known one is left to predict, with two none.
TEST(LeftOut, PredictsRowsBesideTheSmallest) {
  std::vector<ValidationRow> rows;
  for (const char* source : {"a", "b"}) {
    for (const double nodes : {2.0, 1.0}) {
      rows.push_back(row(source, 33));
      rows.back().response.place = {.log2_ranks = nodes, .log2_nodes = nodes};
    }
  }
  const LeftOut judged = leave_out_sources(std::vector<RowsBySource>{by_source(rows)});
  for (const LeftOutSource& source : judged.sources) {
    EXPECT_EQ(source.rows[0].size(), 2U);
    EXPECT_EQ(source.rows[1].size(), 1U);
    EXPECT_EQ(source.rows[2].size(), 0U);
    // The other source's rows are off by a third, which nothing but each row by itself explains.
    EXPECT_GT(source.priors.row, uncertain::priors_before().row);
  }
}

// Only rows whose two nulls are 10 % and more apart.
TEST(LeftOut, SetsApartWhereCommunicationDecides) {
  std::vector<ValidationRow> rows{row("a", 4), row("a", 8), row("b", 1)};
  rows[1].perfect_scaling_percent = 30;
  rows[1].no_overlap_percent = -12;
  const LeftOut judged = leave_out_sources(std::vector<RowsBySource>{by_source(rows)});
  EXPECT_EQ(judged.sources[0].decisive.points, 1U);
  EXPECT_NEAR(judged.sources[0].decisive.mean_absolute, 8, 1e-9);
  EXPECT_DOUBLE_EQ(judged.sources[0].decisive_no_overlap.mean_absolute, 12);
  EXPECT_EQ(judged.sources[1].decisive.points, 0U);
}

}  // namespace left_out_test
}  // namespace paceline
