// Every command through the built program: output, exit codes, files.

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <vector>

#include "tests/scenarios/process.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline::test {
namespace commands_test {

using nlohmann::json;
using Numbers = std::vector<std::uint64_t>;

TEST(Program, TellsItsVersionAndItsCommands) {
  const Folder folder;
  EXPECT_EQ(paceline({"--version"}, folder.path()).exit_code, 0);
  const Ended help = paceline({"--help"}, folder.path());
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_EQ(help.err, "");
  for (const char* command :
       {"run", "measure", "compare", "buckets", "collective", "calibrate", "validate", "nccl",
        "claims", "strategies", "advise", "doctor", "init", "schema"}) {
    EXPECT_NE(help.out.find(command), std::string::npos) << command;
    const Ended of_command = paceline({command, "--help"}, folder.path());
    EXPECT_EQ(of_command.exit_code, 0) << command;
    EXPECT_NE(of_command.out, "") << command;
  }
}

// A result that did not arrive is no success, whatever the command.
TEST(Program, SaysWhenStandardOutputCannotBeWritten) {
  const Folder folder;
  folder.write("scenario.yaml",
               changed(small_scenario, "", "measured: {source: s, points: [{step: 7ms}]}\n"));
  for (const char* command : {"run scenario.yaml",
                              "run scenario.yaml --json -",
                              "run scenario.yaml --csv -",
                              "run scenario.yaml --timeline -",
                              "run scenario.yaml --explain-cluster",
                              "validate scenario.yaml",
                              "validate scenario.yaml --json -",
                              "buckets resnet18",
                              "buckets resnet18 --json -",
                              "collective flat --max 1KiB",
                              "collective flat --max 1KiB --json -",
                              "nccl --channels 2 --local 12GBps",
                              "doctor",
                              "doctor --json -",
                              "schema",
                              "claims one-gpu-costs-nothing",
                              "claims one-gpu-costs-nothing --json -",
                              "strategies scenario.yaml",
                              "strategies scenario.yaml --json -",
                              "advise scenario.yaml",
                              "advise scenario.yaml --json -"}) {
    const Ended ended = run_program(
        {"/bin/sh", "-c", std::string(PACELINE_BINARY) + " " + command + " > /dev/full"},
        folder.path());
    EXPECT_EQ(ended.exit_code, 3) << command;
    EXPECT_EQ(ended.err, "paceline: standard output: cannot be written: No space left on device\n")
        << command;
  }
}

TEST(Run, WritesTheTableToStandardOutputOnly) {
  const Folder folder;
  folder.write("scenario.yaml", small_scenario);
  const Ended ended = paceline({"run", "scenario.yaml"}, folder.path());
  EXPECT_EQ(ended.exit_code, 0);
  EXPECT_EQ(ended.err, "");
  EXPECT_EQ(ended.out.rfind("two nodes\n", 0), 0U);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(Run, LeavesStandardOutputToTheJson) {
  const Folder folder;
  folder.write("scenario.yaml", small_scenario);
  const Ended ended = paceline({"run", "scenario.yaml", "--json", "-"}, folder.path());
  EXPECT_EQ(ended.err, "");
  EXPECT_TRUE(json::accept(ended.out));
  const Ended timeline = paceline({"run", "scenario.yaml", "--timeline", "-"}, folder.path());
  EXPECT_TRUE(json::accept(timeline.out));
}

// Notes about points go to standard error and keep the result readable by programs.
TEST(Run, LeavesStandardOutputToTheJsonBesideNotes) {
  const Folder folder;
  folder.write(
      "scenario.yaml",
      changed(small_scenario, "",
              "sweep: {gpus: [2]}\nmeasured: {source: s, points: [{gpus: 4, step: 1s}]}\n"));
  const Ended ended = paceline({"run", "scenario.yaml", "--json", "-"}, folder.path());
  EXPECT_EQ(ended.exit_code, 0);
  EXPECT_NE(ended.err.find("scenario.yaml:18:"), std::string::npos) << ended.err;
  EXPECT_TRUE(json::accept(ended.out));
}

TEST(Run, WritesFilesBesideTheTable) {
  const Folder folder;
  folder.write("scenario.yaml", small_scenario);
  const Ended ended = paceline(
      {"run", "scenario.yaml", "--json", "a.json", "--csv", "a.csv", "--timeline", "t.json"},
      folder.path());
  EXPECT_EQ(ended.exit_code, 0);
  EXPECT_EQ(ended.out.rfind("two nodes\n", 0), 0U);
  EXPECT_TRUE(json::accept(text_of(folder.path() / "a.json")));
  EXPECT_TRUE(json::accept(text_of(folder.path() / "t.json")));
  EXPECT_NE(text_of(folder.path() / "a.csv"), "");
}

// A file that a setting names is looked for from where the program runs.
TEST(Run, FindsThePresetFileOfASetting) {
  const Folder folder;
  std::filesystem::create_directory(folder.path() / "sub");
  folder.write("sub/mine.yaml",
               "schema: paceline.cluster/1\nname: mine\ngpus_per_node: 3\n"
               "intra_node: {bandwidth: 3GBps}\n");
  folder.write("scenario.yaml",
               changed(small_scenario,
                       "  nodes: 2\n  gpus_per_node: 2\n"
                       "  intra_node: {kind: nvswitch, bandwidth: 100GBps, latency: 2us}\n",
                       "  nodes: 2\n"));
  const Ended ended =
      paceline({"run", "scenario.yaml", "--set", "cluster.preset=sub/mine.yaml", "--json", "-"},
               folder.path());
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(json::parse(ended.out).at("points").at(0).at("gpus"), 6);
}

TEST(Run, SaysWhenAFileCannotBeWritten) {
  const Folder folder;
  folder.write("scenario.yaml", small_scenario);
  const Ended ended = paceline({"run", "scenario.yaml", "--json", "nowhere/a.json"}, folder.path());
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_EQ(ended.err, "paceline: nowhere/a.json: cannot be written: No such file or directory\n");
}

TEST(Run, SaysWhenTheDiskIsFull) {
  const Folder folder;
  folder.write("scenario.yaml", small_scenario);
  const Ended ended = paceline({"run", "scenario.yaml", "--json", "/dev/full"}, folder.path());
  EXPECT_EQ(ended.exit_code, 3);
  EXPECT_NE(ended.err.find("/dev/full: cannot be written"), std::string::npos) << ended.err;
}

// Bytes that are no UTF-8 are bad input, in a name that goes to an executor or into a result.
TEST(Run, SurvivesNamesThatAreNoUtf8) {
  const Folder folder;
  folder.write("layer.yaml", changed(changed(small_scenario, "name: a,", "name: \xff\xfe,"),
                                     "fidelity: folded", "fidelity: flow"));
  folder.write("axis.yaml", changed(small_scenario, "", "sweep: {name: [\xff\xfe, b]}\n"));
  for (const char* file : {"layer.yaml", "axis.yaml"}) {
    const Ended ended = paceline({"run", file, "--json", "-"}, folder.path());
    EXPECT_TRUE(ended.exit_code == 0 || ended.exit_code == 2) << ended.exit_code << ended.err;
  }
}

// Times and bandwidths at the edge of what a double holds must not become "inf" in a result, nor
// break a contract.
TEST(Run, NeitherAbortsNorPredictsInfinity) {
  const Folder folder;
  const std::pair<const char*, const char*> edges[] = {
      {"latency: 5us", "latency: 1e308s"},
      {"10Gbps", "1e-320Gbps"},
      {"10Gbps", "1e300GBps"},
      {"latency: 5us", "latency: 5us, efficiency: 1e-320"},
      {"latency: 5us", "latency: 5us, efficiency: nan%"},
      {"name: a, forward: 1ms, backward: 2ms", "name: a, forward: 1e308s, backward: 1e308s"},
      {"{strategy: bulk_synchronous,", "{strategy: bulk_synchronous, input_time: 1e308s,"},
      {"algorithm: ring}", "algorithm: ring}\nranks: {jitter: nan%}"},
  };
  for (const auto& [from, to] : edges) {
    for (const char* fidelity : {"fidelity: folded", "fidelity: flow"}) {
      folder.write("scenario.yaml",
                   changed(changed(small_scenario, from, to), "fidelity: folded", fidelity));
      const Ended ended = paceline({"run", "scenario.yaml", "--json", "-"}, folder.path());
      EXPECT_TRUE(ended.exit_code == 0 || ended.exit_code == 2)
          << to << ": exit code " << ended.exit_code << ", signal " << ended.signal << '\n'
          << ended.err;
      if (ended.exit_code != 0) continue;
      const json point = json::parse(ended.out).at("points").at(0);
      EXPECT_TRUE(point.at("predicted").at("step_s").is_number()) << to << " (" << fidelity << ")";
    }
  }
}

// A mesh of sixteen GPUs has 15!/2 rings to choose from.
TEST(Run, ChoosesTheRingsOfALargeMeshInTime) {
  const Folder folder;
  folder.write("scenario.yaml", changed(changed(small_scenario, "  nodes: 2\n  gpus_per_node: 2",
                                                "  nodes: 1\n  gpus_per_node: 16"),
                                        "kind: nvswitch", "kind: nvlink_mesh"));
  const Ended ended = paceline({"run", "scenario.yaml"}, folder.path());
  EXPECT_EQ(ended.exit_code, 0) << "signal " << ended.signal;
  EXPECT_LT(ended.cpu_seconds, 10);
}

std::string measured(const char* end) {
  return changed(small_scenario, "",
                 std::string("sweep: {gpus: [2, 4]}\n"
                             "measured:\n  source: s\n  points:\n") +
                     end);
}

// Predicted on four GPUs: 32 samples in 7.079296 ms, 4,520.2 a second; measured 4,000: +13.01 %.
TEST(Validate, EndsWithOneWhenTheMeanErrorIsAboveTheLimit) {
  const Folder folder;
  folder.write("scenario.yaml", measured("    - {gpus: 4, throughput: 4000 samples/s}\n"));
  EXPECT_EQ(paceline({"validate", "scenario.yaml"}, folder.path()).exit_code, 0);
  EXPECT_EQ(
      paceline({"validate", "scenario.yaml", "--max-mean-error", "14"}, folder.path()).exit_code,
      0);
  const Ended above =
      paceline({"validate", "scenario.yaml", "--max-mean-error", "13"}, folder.path());
  EXPECT_EQ(above.exit_code, 1);
  EXPECT_EQ(above.err, "paceline: mean |error| of steps 13.01% is above 13%\n");
}

TEST(Validate, RefusesALimitThatNothingIsAbove) {
  const Folder folder;
  folder.write("scenario.yaml", measured("    - {gpus: 4, throughput: 4000 samples/s}\n"));
  for (const char* limit : {"--max-mean-error=nan", "--max-mean-error=inf%"}) {
    EXPECT_EQ(paceline({"validate", "scenario.yaml", limit}, folder.path()).exit_code, 2) << limit;
  }
}

// On two GPUs as predicted, 16 samples in 7.030 ms and two rounds of 2 us and 8,040 B over 100
// GB/s: nothing moves.
TEST(Validate, LeavesOutKnownPoints) {
  const Folder folder;
  folder.write("scenario.yaml", measured("    - {gpus: 2, step: 7.03416ms, known: true}\n"
                                         "    - {gpus: 4, throughput: 4000 samples/s}\n"));
  const Ended ended = paceline({"validate", "scenario.yaml", "--json", "-"}, folder.path());
  const json table = json::parse(ended.out);
  EXPECT_EQ(table.at("schema"), "paceline.validation/1");
  ASSERT_EQ(table.at("rows").size(), 1U);
  EXPECT_EQ(table.at("rows").at(0).at("point"), "gpus=4");
  EXPECT_EQ(table.at("all").at("paceline").at("points"), 1);
  EXPECT_NEAR(table.at("all").at("paceline").at("mean_absolute_percent"), 13.01, 0.005);
}

TEST(Validate, TakesSeveralScenarios) {
  const Folder folder;
  folder.write("a.yaml", measured("    - {gpus: 4, throughput: 4000 samples/s}\n"));
  folder.write("b.yaml", measured("    - {gpus: 2, throughput: 2000 samples/s}\n"));
  const Ended ended = paceline({"validate", "a.yaml", "b.yaml", "--json", "-"}, folder.path());
  EXPECT_EQ(json::parse(ended.out).at("rows").size(), 2U);
}

// Two sources, one of each number of GPUs, and a choice that each makes for the other.
TEST(Validate, LeavesSourcesOut) {
  const Folder folder;
  const auto of = [](const std::string& by, const std::string& points) {
    std::string text = measured(points.c_str());
    return text.replace(text.find("measured:\n"), 10, "measured:\n  by: " + by + "\n");
  };
  folder.write("a.yaml", of("alice", "    - {gpus: 4, throughput: 4000 samples/s}\n"));
  folder.write("b.yaml", of("bob", "    - {gpus: 2, throughput: 2000 samples/s}\n"));
  const Ended table =
      paceline({"validate", "a.yaml", "b.yaml", "--leave-out", "source"}, folder.path());
  EXPECT_EQ(table.exit_code, 0) << table.err;
  EXPECT_NE(table.out.find("mean of sources"), std::string::npos) << table.out;
  const Ended ended = paceline({"validate", "a.yaml", "b.yaml", "--leave-out", "source", "--choose",
                                "contention=off,1.5", "--json", "-"},
                               folder.path());
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  const json judged = json::parse(ended.out);
  ASSERT_EQ(judged.at("sources").size(), 2U);
  EXPECT_EQ(judged.at("sources")[0].at("source"), "alice");
  EXPECT_EQ(judged.at("sources")[1].at("paceline").at("points"), 1);
}

TEST(Validate, LeavesOutSourcesThatAreNamedOnly) {
  const Folder folder;
  folder.write("a.yaml", measured("    - {gpus: 4, throughput: 4000 samples/s}\n"));
  const auto error = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"validate", "a.yaml", "--leave-out"});
    const Ended ended = paceline(more, folder.path());
    EXPECT_EQ(ended.exit_code, 2) << ended.out;
    return ended.err;
  };
  EXPECT_EQ(error({"batch"}),
            "paceline: --leave-out: \"batch\" is not known; write --leave-out source\n");
  EXPECT_NE(error({"source"}).find("does not say who measured it"), std::string::npos);
  EXPECT_NE(error({"source", "--choose", "contention"}).find("has no values"), std::string::npos);
}

json buckets(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "buckets");
  arguments.insert(arguments.end(), {"--json", "-"});
  const Folder folder;
  const Ended ended = paceline(arguments, folder.path());
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  return json::parse(ended.out).at("buckets");
}

Numbers of_all(const json& list, const char* key) {
  Numbers numbers;
  for (const json& bucket : list) numbers.push_back(bucket.at(key));
  return numbers;
}

// pytorch #48880, a real run: the imagenet example's ResNet-18 at two caps; the shared model facts,
// A6.
TEST(Buckets, AreThoseOfARealRunOfResnet18) {
  EXPECT_EQ(of_all(buckets({"resnet18", "--bucket-cap", "25MiB", "--torch-version", "1.7"}),
                   "size_bytes"),
            (Numbers{2052000, 28852224, 15853824}));
  EXPECT_EQ(of_all(buckets({"resnet18", "--bucket-cap", "35MiB", "--torch-version", "1.7"}),
                   "size_bytes"),
            (Numbers{2052000, 38297600, 6408448}));
}

// The same rule on ResNet-50; fc.weight and fc.bias (2,048,000 + 1,000) come first. Together they
// are its 25,557,032 parameters.
TEST(Buckets, OfResnet50HoldAllItsParameters) {
  const Numbers elements = of_all(buckets({"resnet50", "--bucket-cap", "25MiB"}), "elements");
  EXPECT_EQ(elements, (Numbers{2049000, 7875584, 6563840, 6637568, 2431040}));
  std::uint64_t all = 0;
  for (const std::uint64_t count : elements) all += count;
  EXPECT_EQ(all, 25'557'032U);
}

TEST(Buckets, ArePrintedAsATable) {
  const Folder folder;
  const Ended ended = paceline({"buckets", "resnet18", "--bucket-cap", "25MiB"}, folder.path());
  EXPECT_EQ(ended.exit_code, 0);
  for (const char* text : {"2052000", "28852224", "15853824", "fc.bias", "conv1.weight",
                           "62 tensors, 11689512 elements, 46758048 bytes"}) {
    EXPECT_NE(ended.out.find(text), std::string::npos) << text;
  }
}

// Half-precision parameters take half the bytes.
TEST(Buckets, CountTheBytesOfThePrecision) {
  std::uint64_t bytes = 0;
  for (const std::uint64_t size :
       of_all(buckets({"resnet18", "--precision", "bf16"}), "size_bytes")) {
    bytes += size;
  }
  EXPECT_EQ(bytes, 2U * 11'689'512U);
}

// Four nodes of one GPU, 1 GB/s and 10 us: a ring all-reduce of 1 MiB is 6 rounds of 10 us plus
// 262,144 B / 1 GB/s = 1,632.864 us. algbw = size / time, busbw = 2 (p-1)/p times that.
TEST(Collective, PredictsTheTimeOfARing) {
  const Folder folder;
  for (const char* fidelity : {"flow", "folded"}) {
    const Ended ended = paceline({"collective",  "flat",
                                  "--gpus",      "4",
                                  "--library",   "plan",
                                  "--algorithm", "ring",
                                  "--set",       "cluster.network.bandwidth=1GBps",
                                  "--set",       "cluster.network.latency=10us",
                                  "--min",       "1MiB",
                                  "--max",       "1MiB",
                                  "--fidelity",  fidelity,
                                  "--json",      "-"},
                                 folder.path());
    ASSERT_EQ(ended.exit_code, 0) << ended.err;
    const json table = json::parse(ended.out);
    EXPECT_EQ(table.at("schema"), "paceline.collective/1");
    ASSERT_EQ(table.at("rows").size(), 1U);
    const json& row = table.at("rows").at(0);
    constexpr double time = 1632.864e-6;
    EXPECT_EQ(row.at("size_bytes"), 1 << 20);
    EXPECT_NEAR(row.at("time_s"), time, time * 1e-9);
    EXPECT_NEAR(row.at("algbw_bytes_per_s"), 1048576 / time, 1);
    EXPECT_NEAR(row.at("busbw_bytes_per_s"), 1.5 * 1048576 / time, 1);
    EXPECT_EQ(row.at("transfers"), 24);
  }
}

// Two nodes of two GPUs, 1 GB/s and 10 us between nodes, 100 GB/s inside without latency. Inside
// each GPU sends half of 1 MiB to the other, 5.243 us; across, two steps of half of that between
// the nodes, over one NIC a node that both GPUs share: 10 + 524.288 us each; inside again.
TEST(Collective, RunsTheAlgorithmsInsideAndAcrossNodesThatItIsTold) {
  const Folder folder;
  const Ended ended = paceline({"collective",  "flat",
                                "--gpus",      "4",
                                "--set",       "cluster.gpus_per_node=2",
                                "--set",       "cluster.intra_node.kind=nvswitch",
                                "--set",       "cluster.intra_node.bandwidth=100GBps",
                                "--set",       "cluster.intra_node.latency=0us",
                                "--set",       "cluster.network.bandwidth=1GBps",
                                "--set",       "cluster.network.latency=10us",
                                "--algorithm", "hierarchical",
                                "--inner",     "direct",
                                "--outer",     "halving_doubling",
                                "--min",       "1MiB",
                                "--max",       "1MiB",
                                "--json",      "-"},
                               folder.path());
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  const json row = json::parse(ended.out).at("rows").at(0);
  constexpr double inside = 524288 / 100e9, across = 10e-6 + 2 * 262144 / 1e9;
  EXPECT_NEAR(row.at("time_s"), 2 * inside + 2 * across, 1e-12);
  EXPECT_EQ(row.at("transfers"), 4 + 8 + 4);
}

// The same eight columns, in the same order, as nccl-tests prints out of place.
TEST(Collective, PrintsTheColumnsOfNcclTests) {
  const Folder folder;
  const auto printed = [&](const std::string& collective) {
    const Ended ended = paceline({"collective", "dgx1-v100", "--collective", collective, "--min",
                                  "1MiB", "--max", "1MiB", "--library", "plan"},
                                 folder.path());
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    return ended.out;
  };
  const std::string all_reduce = printed("all_reduce"), reduce = printed("reduce");
  const std::regex head(
      "size \\(B\\) +count +type +redop +root +time \\(us\\) +algbw \\(GB/s\\) +busbw \\(GB/s\\) "
      "+algorithm");
  EXPECT_TRUE(std::regex_search(all_reduce, head)) << all_reduce;
  EXPECT_TRUE(
      std::regex_search(all_reduce, std::regex("1048576 +262144 +float +sum +-1 +[0-9.]+ ")))
      << all_reduce;
  EXPECT_TRUE(std::regex_search(reduce, std::regex("1048576 +262144 +float +sum +0 +[0-9.]+ ")))
      << reduce;
  EXPECT_TRUE(std::regex_search(printed("all_gather"), std::regex(" float +none +-1 ")));
}

TEST(Collective, GrowsByTheFactorUpToTheLargestSize) {
  const Folder folder;
  const Ended ended = paceline({"collective", "dgx1-v100", "--min", "1KiB", "--max", "5KiB",
                                "--factor", "2", "--fidelity", "folded", "--json", "-"},
                               folder.path());
  EXPECT_EQ(of_all(json::parse(ended.out).at("rows"), "size_bytes"), (Numbers{1024, 2048, 4096}));
}

// 1,024 x 2^63 is 0 modulo 2^64: a size that wraps round would go on for ever.
TEST(Collective, EndsWhenTheNextSizeIsTooLargeForAnyType) {
  const Folder folder;
  const Ended ended = paceline(
      {"collective", "dgx1-v100", "--factor", "9223372036854775808", "--fidelity", "folded"},
      folder.path());
  EXPECT_TRUE(ended.exit_code == 0 || ended.exit_code == 2) << ended.exit_code << ended.err;
  EXPECT_LT(ended.cpu_seconds, 5);
}

}  // namespace commands_test
}  // namespace paceline::test
