// Several jobs on one network, through the built program: where they cannot be folded, and what is
// refused.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "tests/scenarios/process.h"
#include "tests/scenarios/refused.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline::test {
namespace other_jobs_test {

using nlohmann::json;

// Two jobs of 24 one-GPU nodes each, drawn at random from a fat tree of twelve leaves of four
// nodes, whose uplinks have a third of their nodes' bandwidth.
constexpr std::string_view drawn_jobs =
    R"(schema: paceline/1
name: two jobs on a fat tree
workload:
  batch_per_gpu: 8
  device: v100-sxm2-16gb
  layers:
    - {name: a, forward: 1ms, backward: 2ms, parameters: [100000, 20]}
    - {name: b, forward: 1ms, backward: 2ms, parameters: [300000]}
cluster:
  nodes: 24
  gpus_per_node: 1
  network:
    bandwidth: 10Gbps
    latency: 5us
    fabric: fat_tree
    nodes_per_leaf: 4
    oversubscription: 3
training: {strategy: wait_free, optimizer: {kind: sgd, time: 1ms}}
other_jobs: {count: 1, placement: random, start: 1.1ms}
collective: {library: plan, algorithm: ring}
)";

json point_of(const Folder& folder, std::vector<std::string> settings) {
  std::vector<std::string> arguments{"run", "jobs.yaml", "--json", "-"};
  for (std::string& setting : settings) {
    arguments.insert(arguments.end(), {"--set", std::move(setting)});
  }
  const Ended ended = paceline(arguments, folder.path());
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  return json::parse(ended.out).at("points").at(0);
}

void expect_folded_as_flow(std::vector<std::string> settings) {
  const Folder folder;
  folder.write("jobs.yaml", drawn_jobs);
  const json folded = point_of(folder, settings);
  settings.emplace_back("simulation.fidelity=flow");
  const double expected = point_of(folder, settings).at("predicted").at("step_s");
  EXPECT_EQ(folded.at("fidelity"), "folded");
  EXPECT_NEAR(folded.at("predicted").at("step_s").get<double>(), expected, 1e-6 * expected);
}

// No two of the 48 nodes are alike, and their flows meet in ever new sets: each is followed.
TEST(OtherJobs, AreFollowedWhereNothingIsAlike) { expect_folded_as_flow({}); }

// A fallback is nothing but flow, and the result says which fidelity it has and why.
TEST(OtherJobs, AreSimulatedByFlowWhereNotificationsQueue) {
  const Folder folder;
  folder.write("jobs.yaml", drawn_jobs);
  const std::string trees = "collective.algorithm=double_binary_tree",
                    announced = "cluster.network.receives=announced";
  const json folded = point_of(folder, {trees, announced}),
             flow = point_of(folder, {trees, announced, "simulation.fidelity=flow"});
  EXPECT_EQ(folded.at("fidelity"), "flow");
  const json& assumed = folded.at("assumed");
  const auto unfolded = std::count_if(assumed.begin(), assumed.end(), [](const json& sentence) {
    return sentence.get<std::string>().rfind("folded: fell back to flow: ", 0) == 0;
  });
  EXPECT_EQ(unfolded, 1) << assumed;
  for (const char* part : {"step_s", "communication_s"}) {
    const double expected = flow.at("predicted").at(part);
    EXPECT_NEAR(folded.at("predicted").at(part), expected, 1e-6 * expected);
  }
  EXPECT_EQ(folded.at("transfers"), flow.at("transfers"));
  const Ended table = paceline(
      {"run", "jobs.yaml", "--assumptions", "--set", trees, "--set", announced}, folder.path());
  EXPECT_NE(table.out.find("folded: fell back to flow: "), std::string::npos) << table.out;
}

// In turn, on leaves of four, every leaf has two nodes of each job: as many hops of each ring stay
// in each leaf, and nothing has to fall back.
TEST(OtherJobs, AreFoldedWhereTheyLieAlike) {
  expect_folded_as_flow({"other_jobs.placement=alternate"});
}

// One flow of a ring leaves each leaf at the NIC's 1.25 GB/s, of the 5/3 GB/s of an uplink: so it
// is when the job is alone, when it has its leaves for itself (packed), and when the other one
// starts after it. Two that run at once in turn on the same leaves have 5/6 GB/s each.
TEST(OtherJobs, TakeBandwidthFromTheFirstWhileBothRunOnItsLeaves) {
  const Folder folder;
  folder.write("jobs.yaml", drawn_jobs);
  const auto step = [&](const std::string& jobs) {
    const json point = point_of(folder, {"other_jobs={" + jobs + "}"});
    return point.at("predicted").at("step_s").get<double>();
  };
  const double alone = step("count: 0");
  EXPECT_NEAR(step("count: 1, placement: packed"), alone, 1e-9 * alone);
  EXPECT_NEAR(step("count: 1, placement: alternate, start: 1s"), alone, 1e-9 * alone);
  EXPECT_GT(step("count: 1, placement: alternate"), 1.01 * alone);
}

// Three rings (20, 100,000 and 300,000 floats) of 1,500 ranks in two jobs: 2 * 1,499 rounds of
// 1,500 transfers each, 2.7 * 10^7 in all, at 6 us each 162 s. That is more than 10^7: refused,
// unless
// --force.
TEST(OtherJobs, AreRefusedWhereAFallbackWouldTakeTooLong) {
  const Folder folder;
  folder.write("jobs.yaml", drawn_jobs);
  const Ended ended = paceline({"run", "jobs.yaml", "--set", "cluster.nodes=1500"}, folder.path());
  expect_refused(ended,
                 "paceline: jobs.yaml: 1500 GPUs cannot be folded (flows share links in too "
                 "many different ways) and take 1.81e+07 simulated transfers, about 38 "
                 "minutes; add --force");
}

// Beside a point that is refused, those that are done are printed and written.
TEST(OtherJobs, ThatAreRefusedCostTheirPointOnly) {
  const Folder folder;
  folder.write("jobs.yaml", drawn_jobs);
  const Ended ended = paceline(
      {"run", "jobs.yaml", "--set", "sweep.cluster.nodes=[24, 1500]", "--json", "result.json"},
      folder.path());
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_EQ(
      ended.err.rfind("paceline: 1500 GPUs, cluster.nodes=1500: jobs.yaml: 1500 GPUs cannot", 0),
      0U)
      << ended.err;
  EXPECT_TRUE(ended.err.ends_with("; done: 1 of 2 points\n")) << ended.err;
  EXPECT_NE(ended.out.find("1500   1500   failed"), std::string::npos) << ended.out;
  const json result = json::parse(text_of(folder.path() / "result.json"));
  EXPECT_EQ(result.at("complete"), false);
  EXPECT_TRUE(result.at("points").at(0).at("predicted").at("step_s").is_number());
  EXPECT_NE(result.at("points").at(1).at("failure").get<std::string>().find("cannot be folded"),
            std::string::npos);
}

// The small scenario with a line at its end, in which "@" is where the message must point.
struct BadJobs {
  const char* name;
  const char* line;
  const char* message;
};

void PrintTo(const BadJobs& bad, std::ostream* out) { *out << bad.name; }

class BadOtherJobs : public testing::TestWithParam<BadJobs> {};

TEST_P(BadOtherJobs, AreRefusedInOneLineThatPointsAtThem) {
  std::string line = GetParam().line;
  const std::size_t column = line.find('@');
  ASSERT_NE(column, std::string::npos);
  line.erase(column, 1);
  const auto lines = std::count(small_scenario.begin(), small_scenario.end(), '\n');
  const Folder folder;
  folder.write("bad.yaml",
               changed(small_scenario, "fidelity: folded", "fidelity: folded") + line + "\n");
  expect_refused(
      paceline({"run", "bad.yaml"}, folder.path()),
      fmt::format("paceline: bad.yaml:{}:{}: {}", lines + 1, column + 1, GetParam().message));
}

const BadJobs bad_jobs[] = {
    {"CountBelowZero", "other_jobs: {count: @-1}", "count \"-1\" is out of range; write a number "},
    {"CountOfTooMany", "other_jobs: {count: @1001}", "count \"1001\" is out of range; write a "},
    {"CountOfAHalf", "other_jobs: {count: @1.5}", "count \"1.5\" is not a whole number"},
    {"UnknownPlacement", "other_jobs: {count: 1, placement: @scattered}",
     "placement \"scattered\" is not known; known: packed, alternate, random"},
    {"MisspeltPlacement", "other_jobs: {count: 1, placement: @alternte}",
     "placement \"alternte\" is not known; did you mean alternate?"},
    {"StartWithoutUnit", "other_jobs: {count: 1, start: @5}",
     "start \"5\" has no unit; write 5us or 5ms"},
    {"StartBeforeTheFirst", "other_jobs: {count: 1, start: @-5ms}",
     "start \"-5ms\" is not a time of zero or more"},
    {"MisspeltKey", "other_jobs: {@cuont: 1}",
     "unknown key \"other_jobs.cuont\"; did you mean count?"},
    {"NumberInPlaceOfASection", "other_jobs: @3", "other_jobs \"3\" is not a map"},
    {"MoreGpusThanACluster", "other_jobs: @{count: 999}\ngpus: 1004",
     "all jobs together have more than 1000000 GPUs"},
};

INSTANTIATE_TEST_SUITE_P(BadInput, BadOtherJobs, testing::ValuesIn(bad_jobs),
                         [](const auto& bad) { return bad.param.name; });

// Nodes in turn: each job has two in either leaf, and its ring crosses once each way. Both jobs
// share an uplink as wide as one node, so that a round of 262,144 B takes 10 + 2 * 262.144 us.
TEST(OtherJobs, MakeTheSameCallBesideTheOneThatIsAskedAbout) {
  std::vector<std::string> arguments{"collective",  "flat",  "--gpus", "4",     "--library",
                                     "plan",        "--min", "1MiB",   "--max", "1MiB",
                                     "--algorithm", "ring",  "--json", "-"};
  for (const char* setting :
       {"cluster.network={bandwidth: 1GBps, latency: 10us, fabric: fat_tree, nodes_per_leaf: 4, "
        "oversubscription: 4}",
        "other_jobs={count: 1, placement: alternate}"}) {
    arguments.insert(arguments.end(), {"--set", setting});
  }
  const Ended ended = paceline(arguments, Folder().path());
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_NEAR(json::parse(ended.out).at("rows").at(0).at("time_s"), 6 * 534.288e-6, 1e-12);
}

// None are no jobs, whatever else is said about them.
TEST(OtherJobs, AreNoneByDefault) {
  const Folder folder;
  folder.write("none.yaml", changed(small_scenario, "", "other_jobs: {count: 0, start: 1ms}\n"));
  EXPECT_EQ(paceline({"run", "none.yaml"}, folder.path()).exit_code, 0);
}

}  // namespace other_jobs_test
}  // namespace paceline::test
