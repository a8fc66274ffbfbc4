// `paceline run --timeline`: what Chrome and Perfetto read.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/scenarios/process.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline::test {
namespace {

using nlohmann::json;

struct Recorded {
  json events;
  std::vector<double> steps_us;  // by point
};

Recorded run_of(const std::string& text, const std::vector<std::string>& settings = {}) {
  const Folder folder;
  folder.write("scenario.yaml", text);
  std::vector<std::string> arguments{"run",           "scenario.yaml", "--timeline",
                                     "timeline.json", "--json",        "-"};
  for (const std::string& setting : settings) {
    arguments.emplace_back("--set");
    arguments.push_back(setting);
  }
  const Ended ended = paceline(arguments, folder.path());
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  Recorded run;
  run.events = json::parse(text_of(folder.path() / "timeline.json")).at("traceEvents");
  const json result = json::parse(ended.out);
  for (const json& point : result.at("points")) {
    run.steps_us.push_back(point.at("predicted").at("step_s").get<double>() * 1e6);
  }
  return run;
}

// Slices by process and thread: start and end in microseconds.
using Tracks = std::map<std::pair<int, int>, std::vector<std::pair<double, double>>>;

Tracks tracks_of(const json& events) {
  Tracks tracks;
  for (const json& event : events) {
    if (event.at("ph") != "X") continue;
    const double start = event.at("ts"), end = start + event.at("dur").get<double>();
    tracks[{event.at("pid"), event.at("tid")}].emplace_back(start, end);
  }
  for (auto& [track, slices] : tracks) std::sort(slices.begin(), slices.end());
  return tracks;
}

// Chrome's format does not allow overlapping slices on a track. A rounding of the sum ts + dur is
// none.
void expect_apart(const Tracks& tracks) {
  for (const auto& [track, slices] : tracks) {
    for (std::size_t i = 1; i < slices.size(); ++i) {
      EXPECT_GE(slices[i].first, slices[i - 1].second - 1e-6)
          << "process " << track.first << ", thread " << track.second;
    }
  }
}

double last_end(const Tracks& tracks) {
  double end = 0;
  for (const auto& [track, slices] : tracks) {
    for (const auto& slice : slices) end = std::max(end, slice.second);
  }
  return end;
}

TEST(Timeline, LastsAsLongAsTheStepAndNothingOverlaps) {
  for (const char* fidelity : {"folded", "flow"}) {
    for (const char* strategy : {"bulk_synchronous", "wait_free", "ddp"}) {
      for (const char* library : {"nccl", "gloo", "mpi"}) {
        const Recorded run =
            run_of(std::string(small_scenario), {std::string("simulation.fidelity=") + fidelity,
                                                 std::string("training.strategy=") + strategy,
                                                 std::string("collective.library=") + library});
        SCOPED_TRACE(std::string(fidelity) + " " + strategy + " " + library);
        const Tracks tracks = tracks_of(run.events);
        expect_apart(tracks);
        EXPECT_NEAR(last_end(tracks), run.steps_us.front(), run.steps_us.front() * 1e-9);
      }
    }
  }
}

// Gloo keeps two collectives under way: they need a track each.
TEST(Timeline, GivesCollectivesInFlightTracksOfTheirOwn) {
  const Recorded run = run_of(std::string(small_scenario),
                              {"collective.library=gloo", "training.strategy=wait_free",
                               "cluster.network.latency=2ms", "simulation.fidelity=flow"});
  std::map<int, int> threads_of_process;
  for (const auto& [track, slices] : tracks_of(run.events)) ++threads_of_process[track.first];
  ASSERT_EQ(threads_of_process.size(), 4U);
  for (const auto& [process, threads] : threads_of_process) EXPECT_EQ(threads, 3) << process;
}

TEST(Timeline, NamesRanksLanesAndCollectives) {
  const Recorded run = run_of(std::string(small_scenario));
  std::vector<std::string> processes, lanes;
  int collectives = 0;
  for (const json& event : run.events) {
    if (event.at("name") == "process_name") processes.push_back(event.at("args").at("name"));
    if (event.at("name") == "thread_name") lanes.push_back(event.at("args").at("name"));
    if (event.at("ph") != "X" || event.at("cat") != "collective") continue;
    ++collectives;
    EXPECT_EQ(event.at("args").at("bytes"), 4020 * 4);
    EXPECT_EQ(event.at("args").at("algorithm"), "ring");
  }
  EXPECT_EQ(processes,
            (std::vector<std::string>{"4 GPUs, predicted, rank 0", "4 GPUs, predicted, rank 1",
                                      "4 GPUs, predicted, rank 2", "4 GPUs, predicted, rank 3"}));
  EXPECT_EQ(std::count(lanes.begin(), lanes.end(), "compute"), 4);
  EXPECT_EQ(std::count(lanes.begin(), lanes.end(), "communication"), 4);
  EXPECT_EQ(collectives, 4);
}

TEST(Timeline, ShowsAtMostSixtyFourRanksOfAPoint) {
  const Recorded run = run_of(changed(small_scenario, "  nodes: 2", "  nodes: 50"));
  std::map<int, int> processes;
  for (const auto& [track, slices] : tracks_of(run.events)) ++processes[track.first];
  EXPECT_EQ(processes.size(), 64U);
}

TEST(Timeline, HoldsEveryPointOfASweep) {
  const Recorded run = run_of(changed(
      small_scenario, "", "sweep: {cluster.network.latency: [5us, 1ms], gpus: [1, 2, 4]}\n"));
  std::map<int, int> processes;
  for (const auto& [track, slices] : tracks_of(run.events)) ++processes[track.first];
  EXPECT_EQ(processes.size(), 2U * (1 + 2 + 4));
}

}  // namespace
}  // namespace paceline::test
