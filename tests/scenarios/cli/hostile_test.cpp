// Hostile command lines and files, by the hundred: each gets its exit code and one line, changes no
// file, and leaves no process.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "scenarios/cli/command.h"
#include "scenarios/loader/load_scenario.h"
#include "tests/scenarios/process.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline::test {
namespace hostile_test {

namespace fs = std::filesystem;
using Arguments = std::vector<std::string>;
using settings::Key;

// All files of a folder, by name.
std::map<std::string, std::string> contents(const fs::path& folder) {
  std::map<std::string, std::string> all;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) all[entry.path().string()] = text_of(entry.path());
  }
  return all;
}

// How many processes have the folder as theirs.
std::size_t processes_in(const fs::path& folder) {
  std::size_t count = 0;
  std::error_code gone;
  for (const auto& entry : fs::directory_iterator("/proc", gone)) {
    std::error_code unreadable;
    count += fs::read_symlink(entry.path() / "cwd", unreadable) == folder ? 1U : 0U;
  }
  return count;
}

class Hostile : public testing::Test {
 protected:
  Hostile() { write("scenario.yaml", small_scenario); }
  ~Hostile() override {
    EXPECT_EQ(processes_in(folder_.path()), 0U);
    // So that a table that got empty does not pass.
    EXPECT_GE(cases_, cases_least_);
    RecordProperty("cases", static_cast<int>(cases_));
  }

  void write(const std::string& name, std::string_view text) const { folder_.write(name, text); }
  void expect_cases(std::size_t least) { cases_least_ = least; }

  // One line that says so, and nothing else happens.
  void refused(const Arguments& arguments, int exit_code = 2) {
    ++cases_;
    const auto before = contents(folder_.path());
    const Ended ended = paceline(arguments, folder_.path());
    const std::string command = fmt::format("{}", fmt::join(arguments, " "));
    SCOPED_TRACE(command.substr(0, 200));
    EXPECT_EQ(ended.exit_code, exit_code) << "signal " << ended.signal << ": " << ended.err;
    EXPECT_EQ(ended.out, "");
    EXPECT_EQ(std::ranges::count(ended.err, '\n'), 1) << ended.err;
    EXPECT_TRUE(ended.err.starts_with("paceline: ")) << ended.err;
    EXPECT_TRUE(std::ranges::none_of(ended.err, [](char c) {
      return static_cast<unsigned char>(c) < 0x20 && c != '\n';
    })) << ended.err;
    EXPECT_LT(ended.err.size(), 1000U);
    EXPECT_TRUE(contents(folder_.path()) == before) << "a file is changed";
  }

  const Folder folder_;

 private:
  std::size_t cases_ = 0, cases_least_ = 1;
};

// What commands take first, where they take something.
const std::map<std::string, Arguments>& needed() {
  static const std::map<std::string, Arguments> all{{"run", {"scenario.yaml"}},
                                                    {"check", {"scenario.yaml"}},
                                                    {"measure", {"scenario.yaml"}},
                                                    {"compare", {"a.json", "b.json"}},
                                                    {"buckets", {"resnet50"}},
                                                    {"collective", {"dgx1-v100"}},
                                                    {"calibrate", {"a.log", "-o", "c.yaml"}},
                                                    {"topology", {"topo.txt"}},
                                                    {"validate", {"scenario.yaml"}},
                                                    {"import", {"trace.json"}},
                                                    {"replay", {"trace.json"}},
                                                    {"nccl", {"dgx1-v100"}},
                                                    {"advise", {"scenario.yaml"}},
                                                    {"explain", {"scenario.yaml"}},
                                                    {"strategies", {"scenario.yaml"}},
                                                    {"capacity", {"scenario.yaml"}}};
  return all;
}

Arguments joined(Arguments first, const Arguments& more) {
  first.insert(first.end(), more.begin(), more.end());
  return first;
}

TEST_F(Hostile, OptionsOfEveryCommand) {
  expect_cases(80);
  for (const cli::Command& command : cli::commands()) {
    const std::string name(command.name);
    const auto row = needed().find(name);
    const Arguments arguments = row == needed().end() ? Arguments{} : row->second;
    const Arguments whole = joined({name}, arguments);
    refused(joined(whole, {"--no-such-option"}));
    refused(joined(whole, {"--no-such-option=1"}));
    refused(joined(whole, {"-Z"}));
    refused({name + "x"});
    if (!arguments.empty()) {
      refused({name});
      refused(joined({name, ""}, {arguments.begin() + 1, arguments.end()}));
    }
  }
}

TEST_F(Hostile, ValuesOfOptions) {
  expect_cases(60);
  for (const char* option : {"--json", "--csv", "--timeline", "--trace", "--chakra", "--set",
                             "--seed", "--jobs", "--beside"}) {
    refused({"run", "scenario.yaml", option});
    refused({"run", "scenario.yaml", option, ""});
  }
  for (const char* value : {"0", "-1", "1025", "1e9", "x", "1.5", "99999999999999999999"}) {
    refused({"run", "scenario.yaml", "--jobs", value});
  }
  for (const char* value : {"-1", "x", "1.5", "99999999999999999999", "1e30", "nan"}) {
    refused({"run", "scenario.yaml", "--seed", value});
  }
  for (const char* value : {"-2", "0", "1", "x", "1.5", "99999999999999999999", ""}) {
    refused({"collective", "dgx1-v100", "--factor", value});
  }
  for (const char* value : {"0", "-1", "x", "3.5", "", "nan", "1e30", "100000001"}) {
    refused({"collective", "dgx1-v100", "--gpus", value});
  }
  for (const char* option : {"--min", "--max"}) {
    for (const char* value : {"0", "-1", "1", "x", "nan", "1e400B", "1KB/s", "", "-1KiB"}) {
      refused({"collective", "dgx1-v100", option, value});
    }
  }
  for (const char* option : {"--collective", "--algorithm", "--library", "--protocol", "--type"}) {
    for (const char* value : {"", "nothing"}) {
      refused({"collective", "dgx1-v100", option, value});
    }
  }
  refused({"list", "nothing"});
  const Arguments measured{"collective",  "--measure", "--backend", "memory", "--mode", "plan",
                           "--algorithm", "ring",      "--gpus",    "2",      "--max",  "1KiB"};
  refused(joined(measured, {"--timeout", "1e30s"}));
  refused(joined(measured, {"--library", "gloo"}));
  refused(joined(measured, {"--fidelity", "folded"}));
  refused(joined(measured, {"--device", "v100-sxm2-16gb"}));
  refused(joined(measured, {"--set", "cluster.network.latency=1ms"}));
  refused({"measure", "scenario.yaml", "--set", "gpus=8000"});
  refused({"measure", "scenario.yaml", "--set", "workload.layers.0.parameters=[1000000000000]"});
  refused({"measure", "scenario.yaml", "--backend", "memory", "--set", "real.backend=gloo"});
  refused({"run", "scenario.yaml", "--calls"});
  refused({"run", "scenario.yaml", "--explain-cluster", "--measure"});
  refused({"list", "two\nlines"});
  refused({"two\nlines"});
  refused({"run", "--two\nlines"});
  refused({"run", "two\nlines\tand more"});
  refused({"run", "two\u2028lines\u2029"});
  refused({"run", "scenario.yaml", "--jobs", "1\n2"});
  for (const char* setting : {"workload.batch_per_gpu=7", "training.strategy=ddp", "name=x",
                              "contention=1.5", "ranks.jitter=5%", "real.backend=mpi"}) {
    refused({"collective", "dgx1-v100", "--set", setting});
  }
  refused({"claims", "nothing"});
  refused({"buckets", "nothing"});
  refused({"collective", "nothing"});
  refused({"nccl", "nothing"});
}

TEST_F(Hostile, Paths) {
  expect_cases(30);
  for (const char* setting : {"=1",
                              "cluster.=1",
                              ".cluster=1",
                              "cluster..nodes=1",
                              ".=1",
                              "..=1",
                              "cluster",
                              "cluster=",
                              "cluster=1",
                              "cluster.nodes",
                              "nothing=1",
                              "cluster.nothing=1",
                              "cluster.nodes.more=1",
                              "workload.layers.9.forward=1ms",
                              "workload.layers.x=1ms",
                              "workload.layers.0.x=1",
                              "workload.layers.-1.forward=1ms",
                              "measured.points=[1]",
                              "sweep=[1]",
                              "sweep.=[1]",
                              "sweep.nothing=[1, 2]",
                              "sweep.gpus=[]",
                              "sweep.gpus=[1, x]",
                              "gpus=[",
                              "gpus={a: 1}",
                              "gpus=[0]",
                              "gpus=[-1]",
                              "gpus=3",
                              "collective.inner=ring",
                              "other_jobs.start=1ms",
                              "other_jobs.placement=alternate",
                              "collective.chunk_size=1MiB",
                              "collective.servers=2",
                              "collective.server_placement=separate",
                              "collective.protocol=ll",
                              "collective.nvls=false",
                              "collective.min_ctas=2",
                              "real.timeout=1ns",
                              "cluster.nodes=0",
                              "name=\x1b[31m",
                              "cluster.nodes=999999999999"}) {
    refused({"check", "scenario.yaml", "--set", setting});
  }
  refused({"check", "scenario.yaml", "--set", "cluster.nodes=2", "--set", "cluster.nodes=3"});
  refused({"check", "scenario.yaml", "--seed", "2", "--set", "simulation.seed=3"});
  for (const char* gpus : {"gpus=4", "sweep.gpus=[2, 4]", "gpus=[2, 4]"}) {
    for (const char* nodes : {"cluster.nodes=1", "sweep.cluster.nodes=[1, 2]"}) {
      refused({"check", "scenario.yaml", "--set", gpus, "--set", nodes});
    }
  }
  refused({"check", "scenario.yaml", "--set", "collective.algorithm=halving_doubling", "--set",
           "collective.channels=2"});
}

// Values that a key of a type does not take.
struct BadValues {
  Arguments operator()(settings::Flag) const { return {"maybe", "2", "[true]"}; }
  Arguments operator()(settings::Count) const { return {"-1", "1.5", "many", "1e30", "{a: 1}"}; }
  Arguments operator()(settings::Number) const { return {"nan", "inf", "1e400", "x"}; }
  Arguments operator()(settings::Fraction) const { return {"-1%", "nan", "200000%", "x"}; }
  Arguments operator()(settings::Time) const { return {"5", "-5us", "5 parsecs", "1e400s"}; }
  Arguments operator()(settings::Bandwidth) const { return {"10", "-10GBps", "0GBps", "10GB"}; }
  Arguments operator()(settings::Size) const { return {"-1MiB", "0B", "1MB/s", "x"}; }
  Arguments operator()(settings::ComputeSpeed) const { return {"0TFLOPS", "5", "fast"}; }
  Arguments operator()(settings::Throughput) const { return {"0", "-1 samples/s", "fast"}; }
  Arguments operator()(settings::OneOf) const { return {"nothing", "[a]", "''"}; }
  Arguments operator()(settings::VersionNumber) const { return {"new", "2", "2.x"}; }
  Arguments operator()(settings::Text) const { return {"[a, b]"}; }
  Arguments operator()(settings::Structure) const { return {"~nothing"}; }
  Arguments operator()(settings::Map) const { return {"5", "[a]"}; }
};

void add_bad_settings(std::span<const Key> table, const std::string& prefix, Arguments& settings) {
  for (const Key& key : table) {
    const std::string path = prefix + std::string(key.name);
    if (path == "sweep" || path == "measured" || path == "schema" || path == "name") continue;
    for (const std::string& value : std::visit(BadValues{}, key.type)) {
      settings.push_back(path + "=" + value);
    }
    if (const auto* map = std::get_if<settings::Map>(&key.type)) {
      if (path != "measured") add_bad_settings(map->keys(), path + ".", settings);
    }
  }
}

TEST_F(Hostile, ValuesOfEveryKey) {
  expect_cases(250);
  Arguments settings;
  add_bad_settings(loader::scenario_keys(), "", settings);
  for (const std::string& setting : settings) refused({"check", "scenario.yaml", "--set", setting});
}

TEST_F(Hostile, FilesOfEveryCommand) {
  expect_cases(80);
  fs::create_directory(folder_.path() / "folder");
  write("empty", "");
  write("byte", "x");
  write("zeros", std::string(1000, '\0'));
  write("deep", std::string(200'000, '['));
  write("deep.yaml", "a: " + std::string(5000, '[') + "\n");
  write("binary",
        "\x7f"
        "ELF\x02\x01\x01\x80\xff\xfe");
  write("escape", "\x1b[2J\x1b]0;title\x07");
  write("numbers.json", R"({"schema": "paceline.result/1", "points": [1e999, -1e999]})");
  for (const char* file : {"nowhere", "folder", "/dev/null", "empty", "byte", "zeros", "deep",
                           "deep.yaml", "binary", "escape", "numbers.json"}) {
    refused({"run", file});
    refused({"check", file});
    refused({"measure", file});
    refused({"advise", file});
    refused({"strategies", file});
    refused({"compare", file, file});
    refused({"calibrate", file, "-o", "-"});
    refused({"topology", file});
    refused({"import", file});
    refused({"replay", file});
    refused({"collective", fmt::format("./{}", file)});
  }
}

TEST_F(Hostile, WhatWouldDoNothing) {
  expect_cases(25);
  write("a.log", "");
  write("folder.yaml", small_scenario);
  fs::create_symlink("scenario.yaml", folder_.path() / "link.yaml");
  for (const char* other : {"scenario.yaml", "./scenario.yaml", "link.yaml"}) {
    refused({"strategies", "scenario.yaml", other});
    refused({"validate", "scenario.yaml", other});
    refused({"import", "scenario.yaml", other});
    refused({"calibrate", "scenario.yaml", other, "-o", "-"});
  }
  refused({"claims", "one-gpu-costs-nothing", "one-gpu-costs-nothing"});
  for (const auto& [option, value] : {std::pair("--gpus", "4"),
                                      {"--nodes", "2"},
                                      {"--collective", "broadcast"},
                                      {"--min", "1KiB"}}) {
    refused({"validate", "scenario.yaml", option, value});
  }
  refused({"nccl", "--channels", "8", "--local", "20GBps", "--plain-tree"});
  refused({"nccl", "--channels", "8", "--local", "20GBps", "--remote", "5GBps"});
  for (const char* setting :
       {"real.backend=foo", "sweep.gpus=[4, 2, 4]", "sweep.cluster.network.latency=[1us, 0.001ms]",
        "simulation.seed=9007199254740993", "simulation.seed=99999999999999999999",
        "training.torch_version=2.1.x", "training.torch_version=2.1.",
        "training.torch_version=2.1b", "training.host.computes=true"}) {
    refused({"run", "scenario.yaml", "--set", setting});
    refused({"check", "scenario.yaml", "--set", setting});
  }
}

TEST_F(Hostile, Scenarios) {
  expect_cases(12);
  const auto text = [&](std::string_view from, std::string_view to) {
    write("hostile.yaml", changed(small_scenario, from, to));
  };
  for (const auto& [from, to] : {
           std::pair("name: two nodes\n", "name: two nodes\nname: again\n"),
           {"  nodes: 2\n", "  nodes: 2\n  nodes: 3\n"},
           {"forward: 1ms, backward: 2ms, parameters: [3000]",
            "forward: 1ms, forward: 2ms, backward: 2ms, parameters: [3000]"},
           {"  nodes: 2\n", "  ? {nodes: 2}\n  : 3\n"},
           {"  nodes: 2\n", "  nodes: !!binary aGVsbG8=\n"},
           {"  nodes: 2\n", "  nodes: *nowhere\n"},
           {"  nodes: 2\n", "\tnodes: 2\n"},
           {"  nodes: 2\n", "  nodes: [2\n"},
           {"schema: paceline/1\n", ""},
           {"schema: paceline/1\n", "schema: paceline/2\n"},
           {"schema: paceline/1\n", "--- a\n--- b\n"},
           {"name: two nodes\n", "name: \"\\e[31m\"\n"},
       }) {
    text(from, to);
    refused({"check", "hostile.yaml"});
  }
}

// Values that look alike.
TEST_F(Hostile, AxesOfVersionsSeedsAndWordsAreNone) {
  write("seeds.yaml", std::string(small_scenario) +
                          "sweep: {simulation.seed: [1700000000000, 1700000000001], "
                          "cluster.network.latency: [1us, 2us]}\n");
  EXPECT_EQ(paceline({"check", "seeds.yaml"}, folder_.path()).exit_code, 0);
  write("versions.yaml",
        changed(small_scenario, "library: plan, algorithm: ring", "library: nccl") +
            "sweep: {collective.version: [\"2.2\", \"2.20\"]}\n");
  const Ended ended = paceline({"check", "versions.yaml"}, folder_.path());
  EXPECT_EQ(ended.err.find("twice"), std::string::npos) << ended.err;
  expect_cases(0);
}

// As other systems write them, files are read.
TEST_F(Hostile, LineEndsOfOtherSystemsAreNone) {
  std::string text(small_scenario);
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 2) {
    text.replace(at, 1, "\r\n");
  }
  write("crlf.yaml", text);
  write("bom.yaml", "\xef\xbb\xbf" + std::string(small_scenario));
  EXPECT_EQ(paceline({"check", "crlf.yaml"}, folder_.path()).exit_code, 0);
  EXPECT_EQ(paceline({"check", "bom.yaml"}, folder_.path()).exit_code, 0);
  expect_cases(0);
}

}  // namespace hostile_test
}  // namespace paceline::test
