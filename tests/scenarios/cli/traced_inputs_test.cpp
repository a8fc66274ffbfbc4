// Profilers' traces as people have them: of one rank, of inference, cut off, of idle devices.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/scenarios/process.h"
#include "tests/scenarios/refused.h"

namespace paceline::test {
namespace traced_inputs_test {

using nlohmann::json;

std::string fixture(const std::string& name) {
  return PACELINE_SOURCE_DIR "/tests/fixtures/kineto/" + name;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

json points_of(std::vector<std::string> arguments, const Folder& folder) {
  arguments.insert(arguments.end(), {"--json", "-"});
  const Ended ended = paceline(arguments, folder.path());
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  return ended.exit_code == 0 ? json::parse(ended.out)["points"] : json::array();
}

double step_ms(const json& point) { return point["predicted"]["step_s"].get<double>() * 1e3; }

// The lines that begin with "paceline" behind "next:", without the program.
std::vector<std::string> proposed(const std::string& summary) {
  std::vector<std::string> commands;
  std::istringstream lines(summary.substr(std::min(summary.find("\nnext:"), summary.size())));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t at = line.find("paceline ");
    if (at != std::string::npos && line.find("paceline replay takes") == std::string::npos) {
      commands.push_back(line.substr(at + 9));
    }
  }
  return commands;
}

// Whatever import proposes works when it is typed, and is said how often.
void expect_proposals_to_work(const std::vector<std::string>& files, std::size_t count,
                              const Folder& folder) {
  std::vector<std::string> arguments{"import"};
  arguments.insert(arguments.end(), files.begin(), files.end());
  const Ended said = paceline(arguments, folder.path());
  ASSERT_EQ(said.exit_code, 0) << said.err;
  const auto commands = proposed(said.out);
  EXPECT_EQ(commands.size(), count) << said.out;
  for (const std::string& command : commands) {
    const Ended typed =
        run_program({"/bin/sh", "-c", std::string(PACELINE_BINARY) + " " + command + " --quiet"},
                    folder.path());
    EXPECT_EQ(typed.exit_code, 0) << command << ": " << typed.err;
  }
}

// A step of 10 ms with 2.4 ms of all-reduce that nothing hides: 8 * 7.6 / 10 of one GPU.
TEST(OneRankOfSeveral, IsReplayedOnAsManyGpusAsTheRunHad) {
  const Folder folder;
  const std::string file = fixture("one_rank_of_eight.json");
  const Ended imported = paceline({"import", file}, folder.path());
  EXPECT_EQ(first_line(imported.out), "rank 0 of 8 alone, 3 steps, NVIDIA A100-SXM4-40GB");
  const Ended replayed = paceline({"replay", file}, folder.path());
  EXPECT_NE(first_line(replayed.out).find(", rank 0 of 8 alone"), std::string::npos)
      << replayed.out;
  const json point = points_of({"replay", file}, folder).at(0);
  EXPECT_EQ(point["gpus"], 8);
  EXPECT_NEAR(step_ms(point), 10, 1e-9);
  EXPECT_NEAR(point["predicted"]["speedup"], 8 * 7.6 / 10, 1e-9);
  EXPECT_TRUE(point["measured"]["speedup"].is_null());
  EXPECT_NEAR(point["error_percent"], 0, 1e-9);
}

// Each is told apart from a run of as many ranks as there are files.
TEST(OneRankOfSeveral, IsKnownByTheGroupOfItsCollectivesToo) {
  const Folder folder;
  std::string text = text_of(fixture("one_rank_of_eight.json"));
  const std::string told =
      R"("distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 8}, )";
  ASSERT_NE(text.find(told), std::string::npos);
  folder.write("untold.json", text.erase(text.find(told), told.size()));
  const Ended imported = paceline({"import", "untold.json"}, folder.path());
  EXPECT_EQ(first_line(imported.out), "one rank of 8 alone, 3 steps, NVIDIA A100-SXM4-40GB");
  EXPECT_NE(imported.out.find("the size of the largest group in a collective"), std::string::npos)
      << imported.out;
  EXPECT_EQ(points_of({"replay", "untold.json"}, folder).at(0)["gpus"], 8);
}

TEST(TracedInputs, ProposeWhatWorks) {
  const Folder folder;
  std::filesystem::copy(fixture("one_rank_of_eight.json"), folder.path() / "it's rank 0.json");
  expect_proposals_to_work({"it's rank 0.json"}, 2, folder);
  expect_proposals_to_work({fixture("no_collectives.json")}, 2, folder);
  expect_proposals_to_work({fixture("inference.json")}, 0, folder);
  expect_proposals_to_work({fixture("symmetric_memory.json")}, 1, folder);  // sizes are not told
  expect_proposals_to_work({fixture("torch_2_4.json")}, 2, folder);
}

TEST(Inference, IsNoTrainingStep) {
  const Folder folder;
  const std::string file = fixture("inference.json");
  const Ended imported = paceline({"import", file}, folder.path());
  EXPECT_EQ(imported.exit_code, 0) << imported.err;
  EXPECT_NE(imported.out.find("\nforward only: no training step"), std::string::npos);
  EXPECT_EQ(imported.out.find("optimizer  "), std::string::npos) << imported.out;
  for (const std::vector<std::string>& settings :
       {std::vector<std::string>{},
        {"--set", "gpus=16", "--set", "cluster.network.bandwidth=100Gbps"}}) {
    std::vector<std::string> arguments{"replay", file};
    arguments.insert(arguments.end(), settings.begin(), settings.end());
    expect_refused(paceline(arguments, folder.path()),
                   "paceline: " + file + ": contains forward passes only");
  }
}

// 2.4 ms of a step of 10.
TEST(SymmetricMemory, IsCommunicationInAReplay) {
  const json point = points_of({"replay", fixture("symmetric_memory.json")}, Folder()).at(0);
  EXPECT_EQ(point["gpus"], 8);
  EXPECT_NEAR(point["predicted"]["communication_s"].get<double>() * 1e3, 2.4, 1e-9);
}

// The first of three steps of 10 ms has no length, nor has the third of which some is missing.
TEST(CutOff, IsReadUpToThereAndSaysSo) {
  const Folder folder;
  const std::string whole = text_of(fixture("one_rank_of_eight.json"));
  folder.write("cut.json", whole.substr(0, whole.size() - 500));
  const Ended imported = paceline({"import", "cut.json"}, folder.path());
  ASSERT_EQ(imported.exit_code, 0) << imported.err;
  EXPECT_EQ(first_line(imported.out).find("cut.json: cut off after "), 0U) << imported.out;
  EXPECT_NE(first_line(imported.out).find(" events: what came later is not there"),
            std::string::npos);
  const Ended replayed = paceline({"replay", "cut.json", "--assumptions"}, folder.path());
  ASSERT_EQ(replayed.exit_code, 0) << replayed.err;
  EXPECT_NE(replayed.out.find("cut.json: cut off after "), std::string::npos) << replayed.out;
  EXPECT_NEAR(step_ms(points_of({"replay", "cut.json"}, folder).at(0)), 10, 1e-6);
}

TEST(CutOff, PackedFilesAreReadUpToThere) {
  const Folder folder;
  folder.write("whole.json", text_of(fixture("one_rank_of_eight.json")));
  const Ended packed = run_program(
      {"/bin/sh", "-c",
       "gzip -k whole.json && head -c $(($(wc -c < whole.json.gz) - 100)) whole.json.gz > cut.gz "
       "&& gzip -c < whole.json | head -c 12 > nothing.gz"},
      folder.path());
  ASSERT_EQ(packed.exit_code, 0) << packed.err;
  const Ended imported = paceline({"import", "cut.gz"}, folder.path());
  ASSERT_EQ(imported.exit_code, 0) << imported.err;
  EXPECT_EQ(first_line(imported.out).find("cut.gz: cut off after "), 0U) << imported.out;
  expect_proposals_to_work({"cut.gz"}, 2, folder);
  expect_refused(paceline({"import", "nothing.gz"}, folder.path()),
                 "paceline: nothing.gz: cannot be read: ");
}

// Of other formats the reader takes what is left, here four rows of a log.
TEST(CutOff, LogsGoToTheirReaderAsTheyAre) {
  const Folder folder;
  folder.write("log", text_of(PACELINE_SOURCE_DIR "/tests/fixtures/collective_log/old_text.txt"));
  const Ended packed = run_program(
      {"/bin/sh", "-c", "gzip -k log && head -c $(($(wc -c < log.gz) - 6)) log.gz > cut.gz"},
      folder.path());
  ASSERT_EQ(packed.exit_code, 0) << packed.err;
  const Ended imported = paceline({"import", "cut.gz"}, folder.path());
  EXPECT_EQ(imported.exit_code, 0) << imported.err;
  EXPECT_EQ(first_line(imported.out).find("cut.gz: cut off, or damaged ("), 0U) << imported.out;
}

// A stream's as a file's.
TEST(CutOff, StandardInputIsReadUpToThere) {
  const Folder folder;
  folder.write("whole.json", text_of(fixture("one_rank_of_eight.json")));
  const std::string cut = "gzip -c whole.json | head -c 900 | " PACELINE_BINARY " import -";
  const Ended imported = run_program({"/bin/sh", "-c", cut}, folder.path());
  ASSERT_EQ(imported.exit_code, 0) << imported.err;
  EXPECT_EQ(first_line(imported.out).find("standard input: cut off after "), 0U) << imported.out;
}

TEST(CutOff, TopologiesAndLogsAreTakenWithAWarning) {
  const Folder folder;
  const std::string fixtures = PACELINE_SOURCE_DIR "/tests/fixtures/";
  folder.write("topology.txt", text_of(fixtures + "topology/dgx_a100.txt"));
  folder.write("log.txt", text_of(fixtures + "collective_log/old_text.txt"));
  const Ended packed = run_program(
      {"/bin/sh", "-c",
       "for f in topology log; do gzip -k $f.txt && head -c $(($(wc -c < $f.txt.gz) - 6)) "
       "$f.txt.gz > $f.gz; done"},
      folder.path());
  ASSERT_EQ(packed.exit_code, 0) << packed.err;
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"topology", "topology.gz", "--device", "a100-sxm4-40gb"},
        {"calibrate", "log.gz", "-o", "cluster.yaml"}}) {
    const Ended ended = paceline(arguments, folder.path());
    EXPECT_NE(ended.err.find(arguments[1] + ": cut off, or damaged ("), std::string::npos)
        << ended.err;
  }
}

// In a folder the trace is named alone; in an archive nothing could be.
TEST(TracedInputs, InAnArchiveWithOthersHaveNoCommand) {
  const Folder folder;
  std::filesystem::create_directory(folder.path() / "run");
  std::filesystem::copy(fixture("one_rank_of_eight.json"), folder.path() / "run/trace.json");
  folder.write("run/notes", "no trace");
  expect_proposals_to_work({"run"}, 2, folder);
  ASSERT_EQ(run_program({"/bin/sh", "-c", "tar cf run.tar run"}, folder.path()).exit_code, 0);
  expect_proposals_to_work({"run.tar"}, 0, folder);
  const Ended said = paceline({"import", "run.tar"}, folder.path());
  EXPECT_NE(said.out.find("\nnext: paceline replay takes the files of one run alone, without what "
                          "is refused\n"),
            std::string::npos)
      << said.out;
}

// Busy for 1 of 14 ms: of 1,024 x 1,024 floats a ring of 16 takes some 0.6 ms at 100 Gb/s, beside
// what the device waits for its input.
TEST(IdleDevices, AreSaidFirstAndStayInAReplay) {
  const Folder folder;
  const std::string file = fixture("no_collectives.json");
  const Ended imported = paceline({"import", file}, folder.path());
  const std::size_t tables = imported.out.find("\nrank");
  EXPECT_LT(imported.out.find("the GPU is busy for 1ms of 14ms of a step"), tables) << imported.out;
  EXPECT_LT(imported.out.find("the host waits for its input (DataLoader) for 11.9ms of 14ms"),
            tables)
      << imported.out;
  const json point =
      points_of({"replay", file, "--set", "gpus=16", "--set", "cluster.network.bandwidth=100Gbps"},
                folder)
          .at(0);
  EXPECT_GE(step_ms(point), 14);
  EXPECT_LT(step_ms(point), 16);
}

// A node of as many A100 as the run had, of which only the network is told.
TEST(ReplayElsewhere, TakesTheLinksOfTheDevicesMachines) {
  const Folder folder;
  std::string text = text_of(fixture("one_rank_of_eight.json"));
  const std::string one = R"([{"id": 0, "name": "NVIDIA A100-SXM4-40GB"}])";
  ASSERT_NE(text.find(one), std::string::npos);
  std::string eight;
  for (int i = 0; i < 8; ++i) {
    eight += (i == 0 ? "" : ", ") + std::string(R"({"id": )") + std::to_string(i) +
             R"(, "name": "NVIDIA A100-SXM4-40GB"})";
  }
  folder.write("eight.json", text.replace(text.find(one), one.size(), "[" + eight + "]"));
  expect_proposals_to_work({"eight.json"}, 2, folder);
  const std::vector<std::string> arguments{
      "replay", "eight.json", "--set", "cluster.network.bandwidth=100Gbps", "--set", "gpus=16"};
  std::vector<std::string> with_assumptions = arguments;
  with_assumptions.emplace_back("--assumptions");
  const Ended said = paceline(with_assumptions, folder.path());
  ASSERT_EQ(said.exit_code, 0) << said.err;
  for (const char* words :
       {"intra_node: nvswitch, bandwidth 240GBps, latency 0.74us, host_bandwidth 24GBps, as preset "
        "dgx-a100 has of nodes of NVIDIA A100-SXM4-40GB",
        "network: latency 3us, as preset dgx-a100 has"}) {
    EXPECT_NE(said.out.find(words), std::string::npos) << said.out;
  }
  const json point = points_of(arguments, folder).at(0);
  EXPECT_EQ(point["gpus"], 16);
  EXPECT_EQ(point["nodes"], 2);
  // All on one node: no network is asked for.
  EXPECT_EQ(points_of({"replay", "eight.json", "--set", "gpus=4"}, folder).at(0)["nodes"], 1);
}

std::string step_of(int number, double start_us, double length_us) {
  const auto at = [&](double offset) { return std::to_string(start_us + offset); };
  const std::string id = std::to_string(100 + number);
  return R"({"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#)" +
         std::to_string(number) + R"(", "ts": )" + at(0) + R"(, "dur": )" +
         std::to_string(length_us - 1) + R"(, "tid": 1},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": )" +
         at(1) + R"(, "dur": 2, "tid": 1, "args": {"correlation": )" + id + R"(}},
{"ph": "X", "cat": "kernel", "name": "gemm", "ts": )" +
         at(2) + R"(, "dur": )" + std::to_string(length_us - 2) +
         R"(, "tid": 7, "args": {"stream": 7, "correlation": )" + id + "}}";
}

// Steps of 10, 10, 12 and 11 ms behind the first; of 10, 10, 11 and 12 the lower median is 10.
TEST(SeveralSteps, MakeTheIntervalAsWideAsTheyDiffer) {
  const Folder folder;
  std::string text = R"({"traceEvents": [)";
  double start = 1000;
  int number = 0;
  for (const double length : {10e3, 10e3, 10e3, 12e3, 11e3}) {
    text += (number == 0 ? "" : ",\n") + step_of(number, start, length);
    start += length;
    ++number;
  }
  folder.write("steps.json", text + "]}");
  const Ended imported = paceline({"import", "steps.json"}, folder.path());
  EXPECT_NE(imported.out.find("steps differ: 4 of them take from 10ms to 12ms"), std::string::npos)
      << imported.out;
  const json point = points_of({"replay", "steps.json"}, folder).at(0);
  EXPECT_NEAR(step_ms(point), 10, 1e-6);
  EXPECT_LE(point["predicted"]["step_s_low"], 10e-3 * (1 + 1e-9));
  EXPECT_GE(point["predicted"]["step_s_high"], 12e-3 * (1 - 1e-9));
}

}  // namespace traced_inputs_test
}  // namespace paceline::test
