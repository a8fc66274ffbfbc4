// `paceline validate --loop`: measured at few ranks, fitted, predicted at more, measured.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/scenarios/process.h"

namespace paceline::test {
namespace loop_test {

using nlohmann::json;

constexpr const char* threads = R"(schema: paceline/1
name: threads
workload:
  batch_per_gpu: 8
  device: v100-sxm2-16gb
  layers: [{name: a, forward: 5ms, backward: 10ms, parameters: [262144, 16384]}]
cluster: {gpus_per_node: 4, intra_node: {kind: nvswitch, bandwidth: 1GBps, latency: 50us}}
training: {strategy: wait_free, optimizer: {time: 1ms}}
simulation: {fidelity: folded}
sweep: {gpus: [1, 2, 3, 4]}
real: {backend: memory, mode: plan, steps: 3, warmup: 2}
collective: {library: plan, algorithm: ring}
)";

Ended loop(const Folder& folder, const std::vector<std::string>& more) {
  std::vector<std::string> all{"validate", "--loop", folder.write("s.yaml", threads), "--quiet"};
  all.insert(all.end(), more.begin(), more.end());
  return paceline(all, folder.path());
}

TEST(Loop, FitsTheTwoLeastNumbersOfRanksAndPredictsTheOthers) {
  const Folder folder;
  const Ended ended = loop(folder, {"--json", "-"});
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  const json points = json::parse(ended.out).at("points");
  ASSERT_EQ(points.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(points[i].at("gpus"), i + 2);
    EXPECT_EQ(points[i].at("measured").at("known"), i < 2);
    EXPECT_EQ(points[i].at("measured").at("samples").size(), 3U);
    EXPECT_LT(points[i].at("predicted").at("step_s_low"), points[i].at("predicted").at("step_s"));
  }
}

TEST(Loop, SaysWhatItFitted) {
  const Folder folder;
  const Ended ended = loop(folder, {"--fit", "2", "--max-mean-error", "1000"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_NE(ended.out.find("--set cluster.intra_node.bandwidth="), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("network fitted to 2 measured calls"), std::string::npos) << ended.out;
}

TEST(Loop, EndsWithOneAboveTheLimit) {
  const Folder folder;
  EXPECT_EQ(loop(folder, {"--max-mean-error", "0"}).exit_code, 1);
}

TEST(Loop, RefusesWhatItCannotDo) {
  const Folder folder;
  const Ended absent = loop(folder, {"--fit", "5"});
  EXPECT_EQ(absent.exit_code, 2);
  EXPECT_NE(absent.err.find("has no point of 5 GPUs to fit"), std::string::npos) << absent.err;
  const Ended few = loop(folder, {"--set", "sweep.gpus=[1, 2]"});
  EXPECT_EQ(few.exit_code, 2);
  EXPECT_NE(few.err.find("too few numbers of GPUs"), std::string::npos) << few.err;
  EXPECT_EQ(paceline({"validate"}, folder.path()).exit_code, 2);
}

}  // namespace loop_test
}  // namespace paceline::test
