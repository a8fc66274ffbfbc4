// Whatever a worker says in place of an answer costs the point that it was asked for, with its
// cause; points that were measured before are kept.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/scenarios/process.h"

namespace paceline::test {
namespace garbled_worker_test {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* two_points = R"(schema: paceline/1
name: two points
workload:
  batch_per_gpu: 8
  device: v100-sxm2-16gb
  layers:
    - {name: a, forward: 1ms, backward: 1ms, parameters: [1024]}
cluster: {nodes: 2, gpus_per_node: 1, network: {bandwidth: 1GBps, latency: 50us}}
training: {strategy: wait_free, optimizer: {time: 0ms}}
simulation: {fidelity: folded}
sweep: {gpus: [2], workload.batch_per_gpu: [8, 16]}
real: {backend: memory, mode: plan, steps: 2, warmup: 2}
)";

struct Fault {
  const char* script;  // what becomes of $said, all that is said to the second point
  const char* cause;   // is in what its failure says
};
constexpr Fault faults[] = {
    {"printf '%s\\n' \"$said\" | sed 's/^\\(.\\{60\\}\\).*/\\1/'", "answered nonsense"},
    {"printf '%s\\n' \"$said\" | sed '$ s/.*/{}/'", "answered nonsense"},
    {"printf '%s\\n' \"$said\" | sed '$ s/\"id\":[0-9]*/\"id\":4711/'", "of another point"},
    {"printf '%s\\n' \"$said\" | sed '$ s/\"measurement\":{[^}]*}/\"notes\":[]/'",
     "nothing measured"},
    {"printf '%s\\n' \"$said\" | sed 's/\"duration_s\":/\"duration_s\":\"soon\"/'",
     "answered nonsense"},
    {"echo '{\"'", "answered nonsense"},
    {"echo 'paceline-worker: rank 1 has burnt down' >&2; exit 3", "rank 1 has burnt down"},
    {"kill -9 $$", "signal 9"},
};

TEST(GarbledWorker, CostsThePointThatItWasAskedFor) {
  const Folder folder;
  folder.write("scenario.yaml", two_points);
  fs::copy_file(PACELINE_BINARY, folder.path() / "paceline");
  for (const Fault& fault : faults) {
    SCOPED_TRACE(fault.script);
    fs::remove(folder.path() / "paceline-worker");
    folder.write(
        "paceline-worker",
        std::string("#!/bin/sh\n"
                    "case $1 in --who) echo 0 1; exit;; esac\n"
                    "n=0\n"
                    "while read -r line; do\n"
                    "  n=$((n + 1))\n"
                    "  said=$(printf '%s\\n' \"$line\" | " PACELINE_WORKER_BINARY " \"$@\")\n"
                    "  if [ $n -eq 2 ]; then ") +
            fault.script +
            "\n"
            "  else printf '%s\\n' \"$said\"; fi\n"
            "done\n");
    fs::permissions(folder.path() / "paceline-worker", fs::perms::owner_all);
    const Ended ended = run_program(
        {(folder.path() / "paceline").string(), "measure", "scenario.yaml", "--json", "-"},
        folder.path());
    EXPECT_EQ(ended.exit_code, 3) << ended.err;
    ASSERT_NE(ended.out, "") << ended.err;
    const json result = json::parse(ended.out);
    EXPECT_EQ(result.at("complete"), false);
    const json& points = result.at("points");
    ASSERT_EQ(points.size(), 2U);
    EXPECT_TRUE(points.at(0).at("measured").is_object());
    EXPECT_FALSE(points.at(0).contains("measure_failure"));
    EXPECT_TRUE(points.at(1).at("measured").is_null());
    const auto why = points.at(1).value("measure_failure", std::string());
    EXPECT_NE(why.find(fault.cause), std::string::npos) << why;
  }
}

}  // namespace garbled_worker_test
}  // namespace paceline::test
