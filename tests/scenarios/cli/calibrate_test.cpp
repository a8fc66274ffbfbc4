// `paceline calibrate` and `validate --calibration` through the built program.

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/scenarios/process.h"

namespace paceline::test {
namespace calibrate_test {

using nlohmann::json;

const std::string logs = std::string(PACELINE_SOURCE_DIR) + "/scenarios/library/logs/";
const std::string calibrations =
    std::string(PACELINE_SOURCE_DIR) + "/scenarios/library/calibrations/";

class Calibrate : public testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& text) const {
    const std::string path = (folder_.path() / name).string();
    std::ofstream(path) << text;
    return path;
  }
  [[nodiscard]] Ended calibrate(const std::vector<std::string>& more) const {
    std::vector<std::string> all{"calibrate", "-o", "cluster.yaml"};
    all.insert(all.end(), more.begin(), more.end());
    return paceline(all, folder_.path());
  }
  void expect_refused(const std::vector<std::string>& more, const std::string& message) const {
    const Ended ended = calibrate(more);
    EXPECT_EQ(ended.exit_code, 2);
    EXPECT_NE(ended.err.find(message), std::string::npos) << ended.err;
    EXPECT_EQ(std::count(ended.err.begin(), ended.err.end(), '\n'), 1) << ended.err;
  }

  Folder folder_;
};

constexpr const char* table = "# collective: all_reduce\n# GPUs: 4\n# nodes: 1\nsize(B),time(us)\n";

TEST_F(Calibrate, WritesWhatValidateAndRunTake) {
  const Ended made = calibrate({logs + "abci-v100-4gpu.csv", logs + "abci-v100-8gpu.csv"});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_NE(made.out.find("what was fitted is met within"), std::string::npos) << made.out;
  const Ended checked = paceline({"validate", "--calibration", "cluster.yaml", "--json", "-",
                                  logs + "abci-v100-16gpu.csv", logs + "abci-v100-8gpu.csv"},
                                 folder_.path());
  EXPECT_EQ(checked.exit_code, 0) << checked.err;
  const json all = json::parse(checked.out);
  EXPECT_EQ(all.at("collectives").at(0).at("fitted"), false);
  EXPECT_EQ(all.at("collectives").at(1).at("fitted"), true);
  EXPECT_EQ(all.at("collectives_predicted").at("paceline").at("points"), 16);
  const json row = all.at("collectives").at(0).at("rows").at(0);
  EXPECT_LT(row.at("predicted_s_low"), row.at("predicted_s"));
}

// ABCI's large sizes on 64 GPUs take twice as long as on 32, which no smaller group shows; its V100
// nodes scale as they did.
TEST_F(Calibrate, SaysHowItWouldHavePredictedTheLargestGroup) {
  const auto fit_of = [&](const std::string& kind, std::initializer_list<const char*> groups) {
    std::vector<std::string> all;
    for (const char* group : groups) all.push_back(logs + "abci-" + kind + "-" + group + "gpu.csv");
    return calibrate(all).out;
  };
  const std::string a100 = fit_of("a100", {"4", "8", "16", "32", "64"});
  EXPECT_NE(a100.find("fitted without the 64 GPUs, it predicts them within"), a100.npos) << a100;
  EXPECT_NE(a100.find("beyond 64 GPUs take its intervals for too narrow"), a100.npos) << a100;
  const std::string v100 = fit_of("v100", {"4", "8", "16", "32"});
  EXPECT_NE(v100.find("fitted without the 32 GPUs, it predicts them within"), v100.npos) << v100;
  EXPECT_EQ(v100.find("too narrow"), v100.npos) << v100;
  EXPECT_EQ(fit_of("v100", {"8", "16"}).find("fitted without"), std::string::npos);
}

TEST_F(Calibrate, ValidateEndsWithOneAboveTheLimit) {
  const Ended ended = paceline({"validate", "--calibration", calibrations + "abci-a100.yaml",
                                "--max-mean-error", "1", logs + "abci-a100-32gpu.csv"},
                               folder_.path());
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_NE(ended.err.find("of collectives"), std::string::npos) << ended.err;
}

TEST_F(Calibrate, SkipsRowsThatCannotBeWithACount) {
  std::string text = table;
  for (int i = 0; i < 8; ++i)
    text += std::to_string(1024 << i) + "," + std::to_string(20 + i) + "\n";
  text += "4096,-3\n8192,nan\n16384\n";
  const Ended ended = calibrate({file("odd.csv", text)});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_NE(ended.out.find("odd.csv:13: skipped: a time of \"-3\""), std::string::npos)
      << ended.out;
  EXPECT_NE(ended.out.find("odd.csv:15: skipped: the line breaks off"), std::string::npos);
}

TEST_F(Calibrate, RefusesWhatIsNoLog) {
  expect_refused({file("empty.csv", "")}, "empty.csv: has no measured collective");
  expect_refused({file("binary.csv", std::string("ab\n\0c", 5))}, "binary.csv:2: is not text");
  expect_refused({(folder_.path() / "absent.csv").string()}, "cannot be read");
  expect_refused({file("group.csv", "size(B),time(us)\n1024,20\n")},
                 "group.csv:2: does not say which collective");
  expect_refused({file("ranks.csv", "# collective: all_reduce\nsize(B),time(us)\n1024,20\n")},
                 "ranks.csv:3: does not list its GPUs and nodes");
}

TEST_F(Calibrate, RefusesTooFewPointsSayingHowManyItTakes) {
  expect_refused({file("few.csv", std::string(table) + "1024,20\n2048,21\n4096,22\n")},
                 "it takes at least 6 sizes, the largest 16 times the least");
}

TEST_F(Calibrate, RefusesReleasesThatDiffer) {
  const auto log = [&](const std::string& name, const std::string& version) {
    return file(name,
                "# GPUs: 2\n# nodes: 1\nNCCL version " + version +
                    "\n 1048576 262144 float sum -1 100.0 10.49 10.49 0 100.0 10.49 10.49 0\n");
  };
  expect_refused({log("a.txt", "2.8.4"), log("b.txt", "2.18.1")}, "b.txt: is of NCCL 2.18.1");
}

TEST_F(Calibrate, RefusesATableOfWrongResults) {
  const std::string row =
      " 1048576 262144 float sum -1 100.0 10.49 10.49 17 100.0 10.49 10.49 17\n";
  expect_refused({file("wrong.txt", "# GPUs: 2\n# nodes: 1\n" + row + row)},
                 "wrong.txt:3: none of the table's 2 rows can be used: its results are wrong");
}

TEST_F(Calibrate, RefusesOptionsThatALogContradicts) {
  expect_refused({"--gpus", "8", logs + "abci-v100-4gpu.csv"}, "is of 4 GPUs on 1 nodes");
  expect_refused({"--collective", "all_gather", logs + "abci-v100-4gpu.csv"}, "is of all_reduce");
}

TEST_F(Calibrate, ValidateHasNothingToCheckInWhatWasFitted) {
  const Ended ended = paceline({"validate", "--calibration", calibrations + "abci-a100.yaml",
                                "--max-mean-error", "0", logs + "abci-a100-4gpu.csv"},
                               folder_.path());
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_NE(ended.err.find("has no row that was not fitted"), std::string::npos) << ended.err;
}

TEST_F(Calibrate, RefusesWeightsThatDoNotAddUp) {
  std::string text = text_of(calibrations + "rtx3090.yaml");
  const auto at = text.find("weight: 1");
  ASSERT_NE(at, std::string::npos);
  const Ended ended =
      paceline({"validate", "--calibration", file("w.yaml", text.replace(at, 9, "weight: 0")),
                logs + "rtx3090-3node.csv"},
               folder_.path());
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_NE(ended.err.find("do not add up to 1"), std::string::npos) << ended.err;
}

TEST_F(Calibrate, RefusesACalibrationThatIsNone) {
  const Ended ended = paceline({"validate", "--calibration", file("c.yaml", "schema: paceline/1\n"),
                                logs + "abci-a100-32gpu.csv"},
                               folder_.path());
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_NE(ended.err.find("c.yaml:1:9: schema"), std::string::npos) << ended.err;
  const Ended none = paceline({"validate", logs + "abci-a100-32gpu.csv"}, folder_.path());
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_NE(none.err.find("--calibration"), std::string::npos) << none.err;
}

// Sizes that double from 64 KiB, on two ranks: each call takes 10 us and its bytes at 10 GB/s, on
// rank 1, and 30 us longer on rank 0, which waited.
TEST(CalibrateInspector, JoinsTheFilesOfRanks) {
  const Folder folder;
  for (const int rank : {0, 1}) {
    std::string text;
    for (int i = 0; i < 12; ++i) {
      const std::uint64_t size = std::uint64_t{65'536} << i;
      const double us = 10 + static_cast<double>(size) / 1e4 + (rank == 0 ? 30 : 0);
      text += json{{"header", {{"id", "0x1"}, {"rank", rank}, {"n_ranks", 2}, {"nnodes", 1}}},
                   {"coll_perf",
                    {{"coll", "AllReduce"},
                     {"coll_sn", i},
                     {"coll_msg_size_bytes", size},
                     {"coll_exec_time_us", us},
                     {"coll_algobw_gbs", static_cast<double>(size) / us / 1e3}}}}
                  .dump() +
              "\n";
    }
    folder.write("rank" + std::to_string(rank), text);
  }
  const Ended ended = paceline({"calibrate", "rank0", "rank1", "-o", "c.yaml"}, folder.path());
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_NE(ended.out.find("rank0 and 1 more"), std::string::npos) << ended.out;
  EXPECT_EQ(ended.out.find("lack ranks"), std::string::npos) << ended.out;
  const std::string fitted = text_of(folder.path() / "c.yaml");
  EXPECT_NE(fitted.find("size: 65536B, time: 1.65536e-05s"), std::string::npos)
      << fitted.substr(0, 2000);
  const Ended alone = paceline({"calibrate", "rank0", "-o", "c.yaml"}, folder.path());
  EXPECT_NE(alone.out.find("12 of 12 calls lack ranks"), std::string::npos) << alone.out;
}

}  // namespace calibrate_test
}  // namespace paceline::test
