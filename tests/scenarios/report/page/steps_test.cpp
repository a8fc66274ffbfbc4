#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "scenarios/report/page/page.h"

namespace paceline::page {
namespace {

using nlohmann::json;
using training::Interval;

json steps_of(const std::vector<traces::TraceRun>& runs) {
  std::ostringstream out;
  write_steps(out, runs);
  return json::parse(out.str());
}

// A backward of 2 ms, and an all-reduce of 4 kB that waits for it and takes 1 ms more on each
// further class of ranks.
traces::TraceRun run_of_classes(std::uint32_t classes) {
  training::StepProgram program;
  const auto compute = program.add_lane({"compute", training::LaneKind::compute});
  const auto network = program.add_lane({"network", training::LaneKind::communication});
  const auto backward =
      program.add({"backward a", training::OperationKind::backward, compute, {}, Seconds(2e-3)});
  program.add({"bucket 0",
               training::OperationKind::collective,
               network,
               {backward},
               training::CollectiveCall{collectives::Collective::all_reduce, ElementCount(1000),
                                        ElementSize(4), Rank(0), training::SimulatedCall{"ring"}}});
  traces::TraceRun run{"two nodes", traces::Origin::predicted, {program, {}}};
  for (std::uint32_t i = 0; i < classes; ++i) {
    run.trace.classes.push_back({{Rank(2 * i), Rank(2 * i + 1)},
                                 {Interval{Seconds(0), Seconds(2e-3)},
                                  Interval{Seconds(2e-3), Seconds(3e-3 + i * 1e-3), backward}}});
  }
  return run;
}

TEST(Steps, SayWhatRanWhenAndWhatReleasedIt) {
  const json step = steps_of({run_of_classes(1)}).at("steps").at(0);
  EXPECT_EQ(step.at("point"), "two nodes");
  EXPECT_EQ(step.at("gpus"), 2);
  EXPECT_EQ(step.at("origin"), "predicted");
  EXPECT_DOUBLE_EQ(step.at("step_s"), 3e-3);
  EXPECT_EQ(step.at("lanes"), json::parse(R"([{"name": "compute", "kind": "compute"},
                                              {"name": "network", "kind": "communication"}])"));
  EXPECT_EQ(step.at("operations"), json::parse(R"([
      {"lane": 0, "name": "backward a", "kind": "backward"},
      {"lane": 1, "name": "bucket 0", "kind": "collective", "bytes": 4000,
       "collective": "all_reduce", "algorithm": "ring"}])"));
  EXPECT_EQ(step.at("ranks"), json::parse(R"([{"rank": 0, "stands_for": 2,
      "start_s": [0.0, 0.002], "end_s": [0.002, 0.003], "released_by": [null, 0]}])"));
}

TEST(Steps, ShowTheFirstRankAndThoseThatEndLast) {
  const json ranks = steps_of({run_of_classes(12)}).at("steps").at(0).at("ranks");
  ASSERT_EQ(ranks.size(), ranks_shown_max);
  EXPECT_EQ(ranks.at(0).at("rank"), 0);
  EXPECT_EQ(ranks.at(1).at("rank"), 18);  // the tenth class and both later ones
  EXPECT_EQ(ranks.back().at("rank"), 22);
}

TEST(Steps, LeaveOutWhatIsTooManySpansAndCountIt) {
  const traces::TraceRun one = run_of_classes(4);  // 8 spans
  const std::vector<traces::TraceRun> many(spans_shown_max / 8 + 3, one);
  const json all = steps_of(many);
  EXPECT_EQ(all.at("steps").size(), spans_shown_max / 8);
  EXPECT_EQ(all.at("left_out"), 3);
}

}  // namespace
}  // namespace paceline::page
