// Records of runs and traces of Nsight Systems through the built program.

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/scenarios/process.h"

namespace paceline::test {
namespace import_records_test {

const std::string fixtures = std::string(PACELINE_SOURCE_DIR) + "/tests/fixtures/";

bool prints(const Ended& ended, const std::string& part) {
  return ended.out.find(part) != std::string::npos;
}

// The buckets that the command counts are those that torch wrote: 8196000 bytes, then 31502336.
TEST(ImportRecords, NameTheShippedNetworkOfAsManyGradientsAndACommandForItsBuckets) {
  const Ended ended = paceline({"import", fixtures + "ddp_logging/two_ranks.txt"}, ".");
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_TRUE(prints(ended, "paceline buckets resnet50 --bucket-cap 26214400B")) << ended.out;
  const Ended buckets = paceline({"buckets", "resnet50", "--bucket-cap", "26214400B"}, ".");
  EXPECT_EQ(buckets.exit_code, 0) << buckets.err;
  EXPECT_TRUE(prints(buckets, " 8196000 "));
  EXPECT_TRUE(prints(buckets, " 31502336 "));
}

TEST(ImportRecords, TellKeysThatRunTakes) {
  const Folder folder;
  folder.write("SCENARIO.yaml",
               "schema: paceline/1\nname: a\n"
               "workload: {model: resnet50, batch_per_gpu: 32, device: a100-sxm4-40gb}\n"
               "cluster: {preset: dgx-a100, nodes: 1}\ntraining: {strategy: ddp}\n");
  const Ended ended =
      paceline({"import", fixtures + "ddp_logging/two_ranks.txt", "--json", "-"}, folder.path());
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  const auto record = nlohmann::json::parse(ended.out)["records"][0];
  std::vector<std::string> command{"run", "SCENARIO.yaml", "--quiet"};
  for (const auto& [key, value] : record["settings"].items()) {
    command.insert(command.end(), {"--set", key + "=" + value.get<std::string>()});
  }
  const Ended run = paceline(command, folder.path());
  EXPECT_EQ(run.exit_code, 0) << run.err;
}

// The command that import names judges the links.
TEST(ImportLinkTest, LeadsToACommandThatRuns) {
  const Folder folder;
  const std::string log = fixtures + "link_test/nvbandwidth.txt";
  const Ended ended = paceline({"import", log}, folder.path());
  const std::string command = "paceline validate " + log + " --preset dgx-h100";
  EXPECT_NE(ended.err.find("is a test of links: " + command), std::string::npos) << ended.err;
  const Ended judged = paceline({"validate", log, "--preset", "dgx-h100"}, folder.path());
  EXPECT_EQ(judged.exit_code, 0) << judged.err;
  EXPECT_TRUE(prints(judged, "slower than described: 201.4 GB/s of GPU 3 and GPU 1")) << judged.out;
}

TEST(ImportLinkTest, OfWhatIsCutOffIsRefusedInOneLine) {
  const Folder folder;
  folder.write("cut.txt",
               "Running device_to_device_memcpy_read_ce.\n"
               "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\n"
               "           0         1\n 0        N/A    394.13\n 1     39\n");
  const Ended ended = paceline({"validate", "cut.txt", "--preset", "dgx-h100"}, folder.path());
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_NE(ended.err.find("cut.txt:5: is no row of 2 GPUs"), std::string::npos) << ended.err;
  EXPECT_EQ(std::ranges::count(ended.err, '\n'), 1) << ended.err;
}

TEST(ImportNsys, HasAFileOfSeveralGpusAsRanks) {
  const Ended ended = paceline({"import", fixtures + "nsys/two_gpus.sqlite", "--json", "-"}, ".");
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  const auto all = nlohmann::json::parse(ended.out);
  ASSERT_EQ(all["traces"].size(), 2U);
  EXPECT_EQ(all["traces"][1]["rank"], 1);
  // Six all-reduces are of both.
  EXPECT_EQ(all["matched"].size(), 6U);
}

TEST(ImportNsys, IsReplayed) {
  const Ended ended = paceline({"replay", fixtures + "nsys/two_gpus.sqlite", "--quiet"}, ".");
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_TRUE(prints(ended, "20ms")) << ended.out;
}

TEST(ImportNsys, NamesReportsThatOnlyItsProgramsRead) {
  const Folder folder;
  folder.write("profile.nsys-rep", "NVIDIA Tegra Profiler Report 2025.1.1.103\n");
  const Ended ended = paceline({"import", "profile.nsys-rep"}, folder.path());
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_NE(ended.err.find("nsys export --type sqlite"), std::string::npos) << ended.err;
}

}  // namespace import_records_test
}  // namespace paceline::test
