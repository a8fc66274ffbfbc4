// `paceline collective --measure` through the built programs.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <string>

#include "tests/scenarios/process.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline::test {
namespace collective_measured_test {

using nlohmann::json;
using Arguments = std::vector<std::string>;

const Arguments on_threads{"--backend", "memory", "--mode", "plan", "--gpus", "2"};
const Arguments small{"--min", "1KiB", "--max", "2KiB", "--iterations", "3", "--warmup", "1"};

Ended measured(const std::vector<Arguments>& parts) {
  const Folder folder;
  Arguments all{"collective", "--measure"};
  for (const Arguments& part : parts) all.insert(all.end(), part.begin(), part.end());
  return paceline(all, folder.path());
}

json json_of(const std::vector<Arguments>& parts) {
  auto all = parts;
  all.push_back({"--json", "-"});
  const Ended ended = measured(all);
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  return json::parse(ended.out);
}

void expect_refused(const std::vector<Arguments>& parts, const std::string& why) {
  const Ended ended = measured(parts);
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_EQ(ended.out, "");
  EXPECT_EQ(ended.err, "paceline: " + why + "\n");
}

TEST(CollectiveMeasured, PrintsTheColumnsOfNcclTestsAndItsOwn) {
  const Ended ended = measured({on_threads, small});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  const std::regex head(
      "# +size +count +type +redop +root +time +algbw +busbw +#wrong +time +algbw +busbw +#wrong "
      "+device +alone +device +alone\n");
  EXPECT_TRUE(std::regex_search(ended.out, head)) << ended.out;
  const std::regex row(
      "\n +2048 +512 +float +sum +-1 +N/A +N/A +N/A +N/A +[0-9.]+ +[0-9.]+ +[0-9.]+ +0 +N/A +N/A "
      "+N/A +[0-9.]+\n");
  EXPECT_TRUE(std::regex_search(ended.out, row)) << ended.out;
  EXPECT_NE(ended.out.find("# measured by memory, ring: 1 calls to warm up, then 3"),
            std::string::npos);
  EXPECT_NE(ended.out.find("slowest rank"), std::string::npos);
  EXPECT_NE(ended.out.find("# Out of bounds values : 0 OK\n"), std::string::npos);
}

TEST(CollectiveMeasured, WritesJson) {
  const json table = json_of({on_threads, small, {"--type", "bfloat16"}});
  EXPECT_EQ(table.at("schema"), "paceline.measured_collective/1");
  EXPECT_EQ(table.at("backend"), "memory");
  EXPECT_EQ(table.at("mode"), "plan");
  EXPECT_EQ(table.at("type"), "bfloat16");
  EXPECT_EQ(table.at("gpus"), 2);
  EXPECT_EQ(table.at("iterations"), 3);
  ASSERT_EQ(table.at("rows").size(), 2U);
  const json& row = table.at("rows").at(1);
  EXPECT_EQ(row.at("size_bytes"), 2048);
  EXPECT_EQ(row.at("count"), 1024);
  EXPECT_EQ(row.at("algorithm"), "ring");
  EXPECT_TRUE(row.at("out_of_place").is_null());
  EXPECT_TRUE(row.at("predicted_s").is_null());
  const json& in_place = row.at("in_place");
  EXPECT_GT(in_place.at("time_s"), 0);
  EXPECT_GT(in_place.at("alone_s"), 0);
  EXPECT_EQ(in_place.at("wrong_elements"), 0);
  EXPECT_TRUE(in_place.at("device_s").is_null());
  // Of two ranks the bus has as much as the algorithm: 2 x 1/2.
  EXPECT_DOUBLE_EQ(in_place.at("busbw_bytes_per_s"), in_place.at("algbw_bytes_per_s"));
}

TEST(CollectiveMeasured, TakesEveryTypeAndCollective) {
  for (const char* type : {"float", "half", "double", "int32", "int64"}) {
    const json table = json_of({on_threads, small, {"--type", type}});
    EXPECT_EQ(table.at("rows").at(0).at("in_place").at("wrong_elements"), 0) << type;
  }
  for (const char* collective :
       {"reduce_scatter", "all_gather", "broadcast", "reduce", "scatter", "gather"}) {
    const json table = json_of({on_threads, small, {"--collective", collective}});
    EXPECT_EQ(table.at("rows").at(0).at("in_place").at("wrong_elements"), 0) << collective;
  }
  const json row = json_of({on_threads, small, {"--collective", "all_to_all"}}).at("rows").at(0);
  EXPECT_EQ(row.at("out_of_place").at("wrong_elements"), 0);
  EXPECT_TRUE(row.at("in_place").is_null());
}

// 1,000 bytes of all-gather are 83 floats for each of 3 ranks, and 80 in whole lines of 16 bytes.
TEST(CollectiveMeasured, RoundsSizesAsNcclTestsDo) {
  const json table = json_of(
      {{"--backend", "memory", "--mode", "plan", "--gpus", "3"},
       {"--collective", "all_gather", "--min", "10B", "--max", "1000B", "--factor", "100"}});
  ASSERT_EQ(table.at("rows").size(), 1U);  // of 10 B no rank has a line
  EXPECT_EQ(table.at("rows").at(0).at("size_bytes"), 960);
}

TEST(CollectiveMeasured, GloosOwnCallsHaveBothWays) {
  const Arguments gloo{"--backend", "gloo", "--gpus", "2"};
  if (measured({gloo, small}).err.find("not built") != std::string::npos) GTEST_SKIP();
  for (const char* collective : {"all_reduce", "all_gather", "broadcast", "reduce"}) {
    const json row = json_of({gloo, small, {"--collective", collective}}).at("rows").at(0);
    EXPECT_EQ(row.at("algorithm"), "native");
    EXPECT_EQ(row.at("out_of_place").at("wrong_elements"), 0) << collective;
    EXPECT_EQ(row.at("in_place").at("wrong_elements"), 0) << collective;
  }
}

TEST(CollectiveMeasured, LaysThePredictionOfAClusterBeside) {
  const Ended ended =
      measured({{"dgx1-v100", "--algorithm", "halving_doubling"}, on_threads, small});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_NE(ended.out.find("  predicted\n"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("memory, halving_doubling:"), std::string::npos) << ended.out;
  const Folder folder;
  const Ended predicted =
      paceline({"collective", "dgx1-v100", "--gpus", "2", "--library", "plan", "--algorithm",
                "halving_doubling", "--min", "1KiB", "--max", "2KiB", "--json", "-"},
               folder.path());
  const json table = json_of({{"dgx1-v100", "--algorithm", "halving_doubling"}, on_threads, small});
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(table.at("rows").at(i).at("predicted_s"),
              json::parse(predicted.out).at("rows").at(i).at("time_s"));
  }
}

TEST(CollectiveMeasured, IsReadAsALogOfCollectives) {
  const Folder folder;
  const Ended ended =
      paceline({"collective", "--measure", "--backend", "memory", "--mode", "plan", "--gpus", "2",
                "--collective", "all_to_all", "--min", "1MiB", "--max", "4MiB"},
               folder.path());
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  folder.write("log.txt", ended.out);
  const Ended imported = paceline({"import", "log.txt", "--json", "-"}, folder.path());
  EXPECT_EQ(imported.exit_code, 0) << imported.err;
  EXPECT_NE(imported.out.find("all_to_all"), std::string::npos) << imported.out;
}

TEST(CollectiveMeasured, RefusesInOneLine) {
  expect_refused({{"--backend", "memory", "--mode", "plan"}},
                 "--gpus: is needed without a launcher; write --gpus 2");
  expect_refused({{"--backend", "memory", "--gpus", "two"}},
                 "--gpus: \"two\" is not a number of ranks; write --gpus 2");
  expect_refused({{"--backend", "memory", "--gpus", "2"}},
                 "--measure: the backend has no all_reduce of its own; measure with mode plan");
  expect_refused({on_threads, {"--type", "float8"}},
                 "--type: \"float8\" is not known; known: float, half, bfloat16, double, int32, "
                 "int64");
  expect_refused({on_threads, {"--algorithm", "auto"}},
                 "--algorithm: auto is for predictions; name one to measure it");
  expect_refused({on_threads, {"--algorithm", "nvls"}},
                 "--measure: switches make the sums of this plan, which is for predictions");
  expect_refused({{"--backend", "memory", "--gpus", "2", "--algorithm", "ring"}},
                 "--algorithm: is the library's own choice in mode native; add --mode plan, or "
                 "leave it out");
  expect_refused({on_threads, {"--collective", "all_gather", "--min", "4B", "--max", "8B"}},
                 "--max: has less than 16 bytes for each rank; write --max 1MiB");
  expect_refused({on_threads, {"--timeout", "0s"}}, "--timeout: is too short; write 10ms or more");
  const Ended pigeon = measured({{"--backend", "pigeon", "--gpus", "2"}});
  EXPECT_EQ(pigeon.exit_code, 2);
  EXPECT_TRUE(pigeon.err.starts_with(
      "paceline: --measure: no backend is called \"pigeon\"; there are memory, gloo, mpi, nccl"));
}

TEST(CollectivePredicted, NeedsAClusterAndNoBackend) {
  const Folder folder;
  EXPECT_EQ(paceline({"collective"}, folder.path()).err,
            "paceline: cluster: is required to predict; name a preset, or measure with "
            "--measure\n");
  const Ended ended = paceline({"collective", "dgx1-v100", "--backend", "gloo"}, folder.path());
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_NE(ended.err.find("--backend requires --measure"), std::string::npos) << ended.err;
}

// As nccl-tests count: of an all-gather what one of the 8 ranks has.
TEST(CollectivePredicted, CountsAsNcclTestsDo) {
  const Folder folder;
  const Ended ended = paceline({"collective", "dgx1-v100", "--collective", "all_gather", "--min",
                                "1MiB", "--max", "1MiB", "--library", "plan", "--type", "half"},
                               folder.path());
  EXPECT_TRUE(std::regex_search(ended.out, std::regex("1048576 +65536 +half +none +-1 ")))
      << ended.out;
}

TEST(CollectivePredicted, AssumesNothingOfAModelsStep) {
  const Folder folder;
  const Ended ended =
      paceline({"collective", "dgx1-v100", "--min", "1MiB", "--max", "1MiB"}, folder.path());
  EXPECT_NE(ended.out.find("nccl 2.28, assumed"), std::string::npos) << ended.out;
  for (const char* of_step : {"compute", "host", "hooks"}) {
    EXPECT_EQ(ended.out.find(of_step), std::string::npos) << ended.out;
  }
}

}  // namespace collective_measured_test
}  // namespace paceline::test
