// Every command that `paceline import` proposes works as it is typed.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "tests/scenarios/process.h"
#include "tests/scenarios/refused.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline::test {
namespace {

namespace fs = std::filesystem;

const fs::path fixtures = PACELINE_SOURCE_DIR "/tests/fixtures";

// 20 us and 7 GB/s.
const std::string rows =
    "1024,20\n4096,21\n65536,29\n262144,57\n1048576,170\n4194304,619\n16777216,2417\n";

// Lines below "next: ", without their notes.
std::vector<std::string> proposed(const std::string& out) {
  std::vector<std::string> commands;
  std::istringstream lines(out);
  bool is_next = false;
  for (std::string line; std::getline(lines, line);) {
    is_next = is_next || line.starts_with("next: ");
    constexpr std::size_t indent = 6;
    if (!is_next || line.size() < indent || line.find(" takes ") != line.npos) continue;
    if (line.substr(indent).starts_with("paceline ")) {
      commands.push_back(line.substr(indent + std::string("paceline ").size()));
    }
  }
  return commands;
}

// Types each; how many there were.
std::size_t type_proposed(const std::string& out, const Folder& folder) {
  const auto commands = proposed(out);
  for (const std::string& command : commands) {
    const Ended ended =
        run_program({"/bin/bash", "-c", PACELINE_BINARY " " + command}, folder.path());
    EXPECT_EQ(ended.exit_code, 0) << command << ": " << ended.err;
  }
  return commands.size();
}

std::vector<std::string> files_of(const char* folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(fixtures / folder)) {
    if (entry.path().extension() != ".md") files.push_back(entry.path().string());
  }
  std::ranges::sort(files);
  return files;
}

// Of every file that is read there is one, but for runs without a step to replay.
TEST(NextCommands, OfEveryFixtureWork) {
  std::size_t all = 0;
  for (const char* name : {"kineto", "collective_log", "topology", "ping_pong", "torch", "chakra",
                           "execution_trace"}) {
    for (const std::string& file : files_of(name)) {
      SCOPED_TRACE(file);
      const Folder folder;
      const Ended ended = paceline({"import", file}, folder.path());
      if (ended.exit_code == 2) continue;
      EXPECT_EQ(ended.exit_code, 0) << ended.err;
      const std::size_t count = type_proposed(ended.out, folder);
      const std::string kind = name;
      if (kind == "collective_log" || kind == "topology" || kind == "ping_pong") {
        const bool has_few = ended.out.find("next: paceline calibrate takes ") != std::string::npos;
        EXPECT_TRUE(count > 0 || has_few) << ended.out;
      }
      all += count;
    }
  }
  EXPECT_GE(all, 30U);
}

TEST(NextCommands, OfFoldersHaveALineForEachKind) {
  const Folder folder;
  fs::create_directory(folder.path() / "run of may");
  const fs::path in = folder.path() / "run of may";
  fs::copy(fixtures / "kineto/with_metadata.json", in / "trace.json");
  folder.write("run of may/it's a log.csv",
               "# collective: all_reduce\n# GPUs: 8\n# nodes: 2\nsize(B),time(us)\n" + rows);
  fs::copy(fixtures / "ping_pong/osu_latency.txt", in / "osu.txt");
  fs::copy(fixtures / "topology/dgx_a100.txt", in / "topo.txt");
  folder.write("run of may/scenario.yaml", small_scenario);
  const Ended ended = paceline({"import", "run of may"}, folder.path());
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  const auto commands = proposed(ended.out);
  for (const char* begin : {"replay 'run of may'", "calibrate 'run of may' --between nodes -o ",
                            "topology 'run of may/topo.txt'", "run 'run of may/scenario.yaml'"}) {
    EXPECT_TRUE(std::ranges::any_of(
        commands, [&](const std::string& command) { return command.starts_with(begin); }))
        << begin << ended.out;
  }
  (void)type_proposed(ended.out, folder);
}

// A log that tells its 4 ranks and one that tells 8, of nodes that neither tells.
TEST(NextCommands, SayOncePerFileWhatLogsTellDifferently) {
  const Folder folder;
  const std::string header = "size(B),time(us)\n" + rows;
  folder.write("a.csv", "# collective: all_reduce\n" + header);
  folder.write("b.csv", "# collective: all_gather\n# GPUs: 8\n" + header);
  folder.write("c.csv", "# collective: all_gather\n# GPUs: 4\n" + header);
  const Ended ended = paceline({"import", "a.csv", "b.csv", "c.csv"}, folder.path());
  EXPECT_EQ(
      proposed(ended.out),
      (std::vector<std::string>{"calibrate a.csv --gpus 16 --nodes 2 -o cluster-calibration-1.yaml",
                                "calibrate b.csv --nodes 1 -o cluster-calibration-2.yaml",
                                "calibrate c.csv --nodes 1 -o cluster-calibration-3.yaml"}));
  EXPECT_NE(ended.out.find("--gpus 16 --nodes 2 stand for what the files do not tell"),
            std::string::npos)
      << ended.out;
  (void)type_proposed(ended.out, folder);
}

TEST(NextCommands, OfRunsWork) {
  const Folder folder;
  folder.write("scenario.yaml", small_scenario);
  EXPECT_EQ(
      paceline({"run", "scenario.yaml", "--quiet", "--trace", "run.json", "--json", "result.json"},
               folder.path())
          .exit_code,
      0);
  const Ended ended = paceline({"import", "run.json"}, folder.path());
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_GE(type_proposed(ended.out, folder), 1U) << ended.out;
}

// Paceline's own files are named, with what takes them.
TEST(NextCommands, OfScenariosAndResultsAreInTheMessage) {
  const Folder folder;
  folder.write("s.yaml", small_scenario);
  expect_refused(paceline({"import", "s.yaml"}, folder.path()),
                 "paceline: s.yaml: is a scenario: paceline run s.yaml\n");
  EXPECT_EQ(paceline({"run", "s.yaml", "--quiet", "--json", "r.json"}, folder.path()).exit_code, 0);
  expect_refused(paceline({"import", "r.json"}, folder.path()),
                 "paceline: r.json: is a result of paceline run: paceline compare takes two of "
                 "them, as paceline compare PREDICTED.json MEASURED.json\n");
  const std::string job = PACELINE_SOURCE_DIR "/scenarios/library/jobs/resnet50-90-epochs.yaml";
  expect_refused(paceline({"import", job}, folder.path()),
                 "paceline: " + job + ": is a job of a planner: paceline capacity " + job + "\n");
}

}  // namespace
}  // namespace paceline::test
