// `paceline collective --calibration`, through the built program.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/calibration/calibration.h"
#include "tests/scenarios/process.h"
#include "tests/scenarios/refused.h"

namespace paceline::test {
namespace collective_calibrated_test {

using nlohmann::json;

const std::string abci =
    std::string(PACELINE_SOURCE_DIR) + "/scenarios/library/calibrations/abci-a100.yaml";

Ended collective(std::vector<std::string> more) {
  std::vector<std::string> all{"collective", "dgx-a100", "--calibration", abci};
  all.insert(all.end(), more.begin(), more.end());
  const Folder folder;
  return paceline(all, folder.path());
}

TEST(CollectiveCalibrated, HasTheTimesAndIntervalsOfTheFit) {
  const Ended ended = collective(
      {"--gpus", "16", "--min", "1MiB", "--max", "16MiB", "--factor", "4", "--json", "-"});
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  const Calibration calibration = read_calibration(abci);
  const auto* fit = calibration.find(collectives::Collective::all_reduce);
  ASSERT_NE(fit, nullptr);
  const json rows = json::parse(ended.out).at("rows");
  ASSERT_EQ(rows.size(), 3U);
  for (const json& row : rows) {
    const auto expected = fit->predict({collectives::Collective::all_reduce, 2, 8},
                                       Bytes(row.at("size_bytes").get<std::uint64_t>()));
    EXPECT_EQ(row.at("algorithm"), "calibrated");
    EXPECT_DOUBLE_EQ(row.at("time_s").get<double>(), expected.time.value());
    EXPECT_NEAR(row.at("time_s_low").get<double>(), expected.low.value(), 1e-12);
    EXPECT_NEAR(row.at("time_s_high").get<double>(), expected.high.value(), 1e-12);
  }
}

TEST(CollectiveCalibrated, ShowsTheIntervalInPlaceOfTransfers) {
  const Ended ended = collective({"--gpus", "16", "--min", "1MiB", "--max", "1MiB"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_NE(ended.out.find("of 2 nodes, predicted, calibrated\n"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("90% interval (us)"), std::string::npos) << ended.out;
  EXPECT_EQ(ended.out.find("transfers"), std::string::npos) << ended.out;
}

TEST(CollectiveCalibrated, RefusesWhatLogsDoNotTell) {
  expect_refused(collective({"--collective", "all_gather"}),
                 "paceline: " + abci +
                     ": has no fit of all_gather; calibrate with logs of it, or leave "
                     "--calibration out");
  for (const auto& [option, value] : {std::pair{"--algorithm", "ring"},
                                      {"--protocol", "ll"},
                                      {"--library", "gloo"},
                                      {"--version", "2.18"},
                                      {"--device", "a100-sxm4-80gb"},
                                      {"--channels", "2"},
                                      {"--min-ctas", "2"},
                                      {"--max-ctas", "2"},
                                      {"--chunk-size", "1MiB"}}) {
    expect_refused(collective({option, value}),
                   std::string("paceline: ") + option +
                       ": has no effect: a calibration has the times of whatever ran");
  }
  for (const char* setting :
       {"cluster.network.latency=1ms", "collective.nvls=false", "simulation.fidelity=folded"}) {
    expect_refused(collective({"--set", setting}),
                   std::string("paceline: --set ") + setting +
                       ": has no effect on this collective; leave it out");
  }
}

// Parts of a switch's machine are all 1; two GPUs of a DGX-1 have one ring of its six.
TEST(CollectiveCalibrated, RefusesAnotherMachinesMesh) {
  const Folder folder;
  const std::string log =
      std::string(PACELINE_SOURCE_DIR) + "/scenarios/library/logs/abci-a100-8gpu.csv";
  const Ended made =
      paceline({"calibrate", log, "--cluster", "dgx-a100", "-o", "made.yaml"}, folder.path());
  ASSERT_EQ(made.exit_code, 0) << made.err;
  expect_refused(
      paceline({"collective", "dgx1-v100", "--gpus", "3", "--calibration", "made.yaml"},
               folder.path()),
      "paceline: cluster.calibration: is of dgx-a100, whose rings of 2 ranks a node carry another "
      "part of its links than this cluster's; calibrate again with --cluster of this machine");
}

}  // namespace collective_calibrated_test
}  // namespace paceline::test
