// `paceline run --chakra`: a file a rank, which `paceline import` reads.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/scenarios/process.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

TEST(ChakraFiles, OfOnePointLieInTheFolderAndAreImported) {
  const Folder folder;
  folder.write("scenario.yaml", small_scenario);
  const Ended ended =
      paceline({"run", "scenario.yaml", "--chakra", "out/here", "--json", "-"}, folder.path());
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_TRUE(fs::exists(folder.path() / "out/here" / ("step." + std::to_string(rank) + ".et")));
  }
  const Ended imported = paceline({"import", "out", "--json", "-"}, folder.path());
  ASSERT_EQ(imported.exit_code, 0) << imported.err;
  const json traces = json::parse(imported.out).at("traces");
  ASSERT_EQ(traces.size(), 4U);
  const double step_s = json::parse(ended.out)["points"][0]["predicted"]["step_s"];
  for (int rank = 0; rank < 4; ++rank) {
    const json& trace = traces[static_cast<std::size_t>(rank)];
    EXPECT_EQ(trace["rank"], rank);
    EXPECT_EQ(trace["world_size"], 4);
    // 4020 floats. Behind them their three tensors are copied back in 5 us each, and the
    // optimizer's millisecond ends the step.
    std::uint64_t elements = 0;
    double end_s = 0;
    for (const json& call : trace["calls"]) {
      EXPECT_EQ(call["kind"], "all_reduce");
      EXPECT_EQ(call["element_size_bytes"], 4);
      elements += call["elements"].get<std::uint64_t>();
      end_s = std::max(end_s, call["end_s"].get<double>());
    }
    EXPECT_EQ(elements, 4020U);
    EXPECT_NEAR(end_s, step_s - 1e-3 - 3 * 5e-6, 2e-9);
  }
}

TEST(ChakraFiles, OfSeveralPointsLieInAFolderEach) {
  const Folder folder;
  folder.write("scenario.yaml", small_scenario);
  const Ended ended = paceline(
      {"run", "scenario.yaml", "--chakra", "out", "--set", "sweep.gpus=[2, 4]"}, folder.path());
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_TRUE(fs::exists(folder.path() / "out/1-2-GPUs/step.1.et"));
  EXPECT_FALSE(fs::exists(folder.path() / "out/1-2-GPUs/step.2.et"));
  EXPECT_TRUE(fs::exists(folder.path() / "out/2-4-GPUs/step.3.et"));
}

TEST(ChakraFiles, NeedAFolderThatCanBe) {
  const Folder folder;
  folder.write("scenario.yaml", small_scenario);
  const Ended stream = paceline({"run", "scenario.yaml", "--chakra", "-"}, folder.path());
  EXPECT_EQ(stream.exit_code, 2);
  EXPECT_NE(stream.err.find("standard output takes no folder"), std::string::npos) << stream.err;
  const Ended file = paceline({"run", "scenario.yaml", "--chakra", "scenario.yaml"}, folder.path());
  EXPECT_EQ(file.exit_code, 2);
  EXPECT_NE(file.err.find("scenario.yaml"), std::string::npos) << file.err;
}

}  // namespace
}  // namespace paceline::test
