// An executor that fails at any pass of a point costs the point, with its cause, or nothing: what
// is predicted is what it would have been without. Never a number of an earlier pass.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/scenarios/process.h"

namespace paceline::test {
namespace every_pass_test {

namespace fs = std::filesystem;
using nlohmann::json;

// 25 MB over a link of 1 GB/s beside a backward of 100 ms, by NCCL: compute and collectives slow
// each other down, which takes a second pass.
constexpr const char* contended = R"(schema: paceline/1
name: contended
workload:
  batch_per_gpu: 8
  device: v100-sxm2-16gb
  layers:
    - {name: first, forward: 10ms, backward: 100ms, parameters: [1000]}
    - {name: last, forward: 10ms, backward: 10ms, parameters: [6250000]}
cluster: {nodes: 2, gpus_per_node: 1, network: {bandwidth: 1GBps, latency: 1us}}
training: {strategy: wait_free, optimizer: {time: 0ms}}
collective: {library: nccl}
simulation: {fidelity: flow}
sweep: {gpus: [1, 2]}
)";

// What a fault does in place of the answer to the request `$line`, in a shell; `$reply` is what the
// simulation says.
struct Fault {
  const char* name;
  const char* script;
};
constexpr Fault faults[] = {
    {"dies", "exit 1"},
    {"is killed", "kill -9 $$"},
    {"cuts its answer", "printf '%.200s\\n' \"$reply\""},
    {"cuts its answer and dies", "printf '%.200s' \"$reply\"; exit 0"},
    {"answers for another", "printf '%s\\n' \"$reply\" | sed 's/\"id\":[0-9]*/\"id\":4711/'"},
    {"answers as before", "cat before"},
    {"answers without ranks",
     "printf '%s\\n' \"$reply\" | sed 's/\"classes\":.*/\"classes\":[]}/'"},
    {"fails",
     "printf '%s\\n' \"$line\" | sed 's/.*\"id\":\\([0-9]*\\).*/{\"id\":\\1,"
     "\"failure\":\"out of luck\",\"refused\":false}/'"},
    {"says nothing", "echo"},
};
constexpr Fault too_late{"is too late", "exec sleep 600"};

class EveryPass : public testing::Test {
 protected:
  EveryPass() {
    fs::copy_file(PACELINE_BINARY, folder_.path() / "paceline");
    folder_.write("before", "");
  }

  // Real simulations, but for the one of that number, from 1.
  void fail_at(int number, const Fault& fault) const {
    folder_.write("count", "0");
    fs::remove(folder_.path() / "paceline-sim");
    folder_.write("paceline-sim",
                  std::string("#!/bin/sh\n: > before\n"
                              "while read -r line; do\n"
                              "  n=$(($(cat count) + 1)); echo $n > count\n"
                              "  reply=$(printf '%s\\n' \"$line\" | " PACELINE_SIM_BINARY ")\n"
                              "  if [ $n -eq ") +
                      std::to_string(number) + " ]; then " + fault.script +
                      "\n"
                      "  else printf '%s\\n' \"$reply\" | tee before; fi\n"
                      "done\n");
    fs::permissions(folder_.path() / "paceline-sim", fs::perms::owner_all);
  }

  struct Run {
    Ended ended;
    json result;  // null: none
    int passes = 0;
  };

  // The limit is short where a pass may never answer; one that answers may take longer on a busy
  // machine.
  [[nodiscard]] Run run(const std::string& scenario, bool answers) const {
    folder_.write("scenario.yaml", scenario);
    Run run{run_program(
                {"/usr/bin/env", answers ? "PACELINE_SIM_TIMEOUT=600" : "PACELINE_SIM_TIMEOUT=2",
                 (folder_.path() / "paceline").string(), "run", "scenario.yaml", "--jobs", "1",
                 "--json", "-"},
                folder_.path()),
            {},
            std::stoi(text_of(folder_.path() / "count"))};
    if (!run.ended.out.empty()) run.result = json::parse(run.ended.out);
    return run;
  }

  // Fails each pass in turn, or those that are given, in each way.
  void expect_right_or_failed(const std::string& scenario, int passes_least,
                              std::set<int> passes = {}) const {
    fail_at(0, faults[0]);
    const Run right = run(scenario, true);
    ASSERT_EQ(right.ended.exit_code, 0) << right.ended.err;
    ASSERT_GE(right.passes, passes_least);
    if (passes.empty()) {
      for (int pass = 1; pass <= right.passes; ++pass) passes.insert(pass);
    }
    for (const int pass : passes) {
      for (const Fault& fault : faults) expect_right_or_failed(scenario, right, pass, fault);
    }
    expect_right_or_failed(scenario, right, *passes.rbegin(), too_late);
  }

  Folder folder_;

 private:
  void expect_right_or_failed(const std::string& scenario, const Run& right, int pass,
                              const Fault& fault) const {
    SCOPED_TRACE("pass " + std::to_string(pass) + " " + fault.name);
    fail_at(pass, fault);
    const Run made = run(scenario, false);
    EXPECT_EQ(made.ended.exit_code, 3) << made.ended.err;
    EXPECT_EQ(made.ended.err.rfind("paceline: ", 0), 0U) << made.ended.err;
    EXPECT_EQ(std::count(made.ended.err.begin(), made.ended.err.end(), '\n'), 1);
    if (made.result.is_null()) return;  // nothing was predicted
    int failed = 0;
    for (std::size_t i = 0; i < right.result.at("points").size(); ++i) {
      const json& point = made.result.at("points").at(i);
      if (point.at("predicted").is_null()) {
        ++failed;
        EXPECT_NE(point.at("failure").get<std::string>(), "");
      } else {
        EXPECT_EQ(point, right.result.at("points").at(i));
      }
    }
    EXPECT_GE(failed, 1) << "one answer was none";
    EXPECT_EQ(made.result.at("complete"), false);
  }
};

TEST_F(EveryPass, OfContention) { expect_right_or_failed(contended, 3); }

TEST_F(EveryPass, OfDecisions) {
  std::string scenario = contended;
  const std::string strategy = "wait_free";
  scenario.replace(scenario.find(strategy), strategy.size(), "horovod");
  expect_right_or_failed(scenario, 4);
}

// A known point is predicted before all others, by one pass and a second beside compute, and what
// fails there ends all points that wait for what it says.
TEST_F(EveryPass, OfKnownRows) {
  const std::string scenario = std::string(contended) +
                               "contention: assumed\n"
                               "measured:\n"
                               "  source: a test\n"
                               "  points: [{gpus: 2, throughput: 110 samples/s, known: true}]\n";
  expect_right_or_failed(scenario, 5);
}

}  // namespace every_pass_test
}  // namespace paceline::test
