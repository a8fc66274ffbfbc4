// Logs of real machines: fitted on few nodes, predicted on more. The limits are those that
// predictions must keep, not what they reach.

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "scenarios/calibration/calibration.h"

namespace paceline {
namespace {

const std::string library = std::string(PACELINE_SOURCE_DIR) + "/scenarios/library/";

std::vector<std::string> paths(const std::string& of, const std::vector<std::string>& names) {
  std::vector<std::string> all;
  for (const std::string& name : names) all.push_back(library + "logs/" + of + name + ".csv");
  return all;
}

struct Published {
  std::string name, of;
  std::vector<std::string> fitted, predicted;
  double limit_percent,
      covered_percent;  // bars against getting worse, a little above what is reached
};

// For the tests' names.
void PrintTo(const Published& published, std::ostream* out) { *out << published.name; }

class PublishedLogs : public testing::TestWithParam<Published> {};

TEST_P(PublishedLogs, ArePredictedWithinTheirLimits) {
  const Published& published = GetParam();
  const Calibration calibration =
      calibrate(read_log_files(paths(published.of, published.fitted), {}), {});
  const auto logs =
      validate_logs(calibration, read_log_files(paths(published.of, published.predicted), {}));
  for (const ValidatedLog& log : logs) EXPECT_FALSE(log.is_fitted);
  const LogSummary summary = summarise(logs);
  EXPECT_LE(summary.predicted.geometric_mean, published.limit_percent);
  EXPECT_LT(summary.predicted.geometric_mean, summary.copied.geometric_mean);
  EXPECT_GE(summary.coverage_percent, published.covered_percent);
}

// The shipped calibration is the one that comes of the logs today; to a tenth of a per cent, as
// compilers round differently.
TEST_P(PublishedLogs, HaveTheirCalibrationShipped) {
  const Published& published = GetParam();
  const Calibration made = calibrate(read_log_files(paths(published.of, published.fitted), {}), {});
  const Calibration shipped =
      read_calibration(library + "calibrations/" + published.name + ".yaml");
  const auto& tables = read_log_files(paths(published.of, published.predicted), {});
  const auto now = validate_logs(made, tables), then = validate_logs(shipped, tables);
  ASSERT_EQ(now.size(), then.size());
  for (std::size_t i = 0; i < now.size(); ++i) {
    ASSERT_EQ(now[i].rows.size(), then[i].rows.size());
    for (std::size_t j = 0; j < now[i].rows.size(); ++j) {
      EXPECT_NEAR(now[i].rows[j].predicted.time / then[i].rows[j].predicted.time, 1, 1e-3);
      EXPECT_NEAR(now[i].rows[j].predicted.low / then[i].rows[j].predicted.low, 1, 1e-3);
      EXPECT_NEAR(now[i].rows[j].predicted.high / then[i].rows[j].predicted.high, 1, 1e-3);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Library, PublishedLogs,
    testing::Values(
        Published{"abci-a100", "abci-a100-", {"4gpu", "8gpu", "16gpu"}, {"32gpu"}, 10, 80},
        Published{"abci-v100", "abci-v100-", {"4gpu", "8gpu", "16gpu"}, {"32gpu"}, 12, 80},
        Published{"rtx3090", "rtx3090-", {"2node"}, {"3node"}, 11, 75},
        Published{
            "vtrain-a100", "vtrain-a100-", {"2gpu", "4gpu", "8gpu"}, {"3gpu", "6gpu"}, 8, 80}),
    [](const auto& one) {
      std::string name = one.param.name;
      for (char& c : name) c = c == '-' ? '_' : c;
      return name;
    });

TEST(CalibrationFile, PredictsTheSameWhenReadAgain) {
  const Calibration made = calibrate(read_log_files(paths("abci-v100-", {"4gpu", "8gpu"}), {}), {});
  const std::string path = testing::TempDir() + "calibration.yaml";
  {
    std::ofstream out(path);
    write_calibration(out, made);
  }
  const Calibration again = read_calibration(path);
  std::ostringstream first, second;
  write_calibration(first, made);
  write_calibration(second, again);
  const auto fits = [](const std::string& text) { return text.substr(text.find("collectives:")); };
  EXPECT_TRUE(fits(first.str()) == fits(second.str()));
  const cost::CollectiveShape shape{collectives::Collective::all_reduce, 4, 4};
  EXPECT_EQ(made.find(shape.collective)->predict(shape, Bytes(1 << 20)).time,
            again.find(shape.collective)->predict(shape, Bytes(1 << 20)).time);
  EXPECT_EQ(again.sources.size(), 2U);
  EXPECT_TRUE(again.is_fitted({collectives::Collective::all_reduce, 2, 4}));
  EXPECT_FALSE(again.is_fitted(shape));
  std::remove(path.c_str());
}

}  // namespace
}  // namespace paceline
