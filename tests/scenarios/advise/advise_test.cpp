#include "scenarios/advise/advise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/scenarios/process.h"
#include "tests/scenarios/refused.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline::advise {
namespace {

using nlohmann::json;
using test::changed;
using test::small_scenario;

// Two nodes of one GPU.
const std::string pair_of_nodes =
    changed(changed(small_scenario, "gpus_per_node: 2", "gpus_per_node: 1"),
            "  intra_node: {kind: nvswitch, bandwidth: 100GBps, latency: 2us}\n", "");

PointOutcome traced(const std::string& text) {
  const test::Folder folder;
  RunOptions options;
  options.keep_traces = true;
  return run_scenario(ScenarioFile::read(folder.write("scenario.yaml", text), {}), options).front();
}

double time_of(const Limits& limits, const std::string& name) {
  for (const StepPart& part : limits.parts) {
    if (part.name == name) return part.time.value();
  }
  return 0;
}

// 6 ms of layers, 1 ms of optimizer, six copies of 5 us, and one all-reduce of 16080 bytes that
// nothing hides: two rounds of half of them at 1.25 GB/s and 5 us each.
TEST(Limits, AreThePartsOfTheStep) {
  const Limits limits = limits_of(traced(pair_of_nodes));
  const double exposed = 2 * (6.432e-6 + 5e-6);
  EXPECT_EQ(limits.by, "one GPU's step");
  EXPECT_NEAR(time_of(limits, "forward and backward"), 6e-3, 1e-12);
  EXPECT_NEAR(time_of(limits, "optimizer"), 1e-3, 1e-12);
  EXPECT_NEAR(time_of(limits, "copies"), 30e-6, 1e-12);
  EXPECT_NEAR(time_of(limits, "exposed communication"), exposed, 1e-12);
  EXPECT_EQ(limits.call_count, 1U);
  ASSERT_EQ(limits.calls.size(), 1U);
  EXPECT_EQ(limits.calls[0].size, Bytes(16080));
  EXPECT_NEAR(limits.calls[0].exposed.value(), exposed, 1e-12);
  EXPECT_EQ(limits.skew, Seconds(0));
}

// At 1 MB/s the 16080 bytes take 16 ms. Rank 1 computes 1.5 times as long: 3 of 6 ms of layers
// more, and half a millisecond of optimizer.
TEST(Limits, NameExposedCommunicationAndSkew) {
  EXPECT_EQ(limits_of(traced(changed(pair_of_nodes, "10Gbps", "1MBps"))).by,
            "exposed communication");
  const auto skewed = limits_of(traced(pair_of_nodes + "ranks: {slowdown: {1: 1.5}}\n"));
  EXPECT_GT(skewed.skew, Seconds(2.9e-3));
  EXPECT_LT(skewed.skew, Seconds(3.6e-3));
}

// Launches of 3 ms: forward a runs 3-4, b 6-7, backward b 9-11, a 12-14. Fifteen microseconds of
// copies, the call, which holds the host, and the optimizer's launch, 15 us of which copies hide.
// No compute goes on in 3 + 2 + 2 + 1 ms of launches and those 2.985.
TEST(Limits, NameTheHostWhereItsLaunchesAreWaitedFor) {
  const std::string host = ", host: {per_operation: 3ms, computes: false}, optimizer";
  const auto outcome = traced(changed(pair_of_nodes, ", optimizer", host));
  const Limits limits = limits_of(outcome);
  EXPECT_EQ(limits.by, "launches, hooks and optimizer");
  EXPECT_NEAR(limits.launches.value(), 15e-3, 1e-12);
  EXPECT_NEAR(time_of(limits, "host launches"), 10.985e-3, 1e-12);
  EXPECT_NEAR(time_of(limits, "forward and backward"), 6e-3, 1e-12);
  EXPECT_NEAR(time_of(limits, "exposed communication"), 2 * (6.432e-6 + 5e-6), 1e-12);
  Seconds sum;
  for (const StepPart& part : limits.parts) sum += part.time;
  EXPECT_NEAR(sum.value(), outcome.predicted->totals.step.value(), 1e-9);
  // Alone: 3-4, 6-7, 9-11, 12-14, and the optimizer launched by 15.
  EXPECT_NEAR(outcome.one_gpu_step.value(), 16e-3, 1e-12);
}

// Horovod's engine copies into its buffer and out of it on the lane of its calls, some of it while
// the backward goes on. Such time counts once.
TEST(Limits, AreTogetherTheStepWhereAnEngineCopies) {
  const auto outcome = traced(changed(changed(pair_of_nodes, "bulk_synchronous", "horovod"),
                                      "parameters: [3000]", "parameters: [30000000, 3000]"));
  const Limits limits = limits_of(outcome);
  Seconds sum;
  for (const StepPart& part : limits.parts) sum += part.time;
  EXPECT_NEAR(sum.value(), outcome.predicted->totals.step.value(), 1e-9);
  EXPECT_NEAR(time_of(limits, "forward and backward"), 6e-3, 1e-12);
  double beside = 0;
  for (const char* part : {"exposed communication", "copies beside compute",
                           "waiting of the engine", "waiting for other ranks"}) {
    beside += time_of(limits, part);
  }
  EXPECT_NEAR(beside, outcome.predicted->totals.exposed_communication.value(), 1e-12);
}

PointOutcome predicted(double step, const uncertain::Believed& believed) {
  PointOutcome outcome;
  outcome.samples_per_step = 1;
  outcome.predicted.emplace().totals.step = Seconds(step);
  outcome.predicted->believed = believed;
  return outcome;
}

// From 2 s to 1 s doubles the throughput. What both have alike moves neither; links that may double
// the step before, and not the one after, may double the gain's ratio again.
TEST(Gain, SharesWhatBothAreOffBy) {
  constexpr auto compute = static_cast<std::size_t>(uncertain::Unknown::compute);
  constexpr auto network = static_cast<std::size_t>(uncertain::Unknown::network);
  uncertain::Believed after;
  after.lows[compute] = -0.1;
  after.highs[compute] = 0.1;
  const Gain alike = gain_of(predicted(2, after), predicted(1, after), false);
  EXPECT_NEAR(alike.value, 1, 1e-12);
  EXPECT_NEAR(alike.low, 1, 1e-12);
  EXPECT_NEAR(alike.high, 1, 1e-12);
  uncertain::Believed before = after;
  before.highs[network] = std::log(2.0);
  const Gain by_links = gain_of(predicted(2, before), predicted(1, after), false);
  EXPECT_NEAR(by_links.low, 1, 1e-12);
  EXPECT_NEAR(by_links.high, 3, 1e-12);
  // Strategies that differ do not share the rest of the step, either way.
  after.rest_low = -0.03;
  after.rest_high = 0.04;
  const double apart = std::exp(0.05);
  const Gain other = gain_of(predicted(2, after), predicted(1, after), true);
  EXPECT_NEAR(other.high, 2 * apart - 1, 1e-12);
  EXPECT_NEAR(other.low, 2 / apart - 1, 1e-12);
}

// The speed of a GPU in one precision says nothing of that in another, on either side.
TEST(Gain, DoesNotShareWhatDiffersBetweenBoth) {
  constexpr auto compute = static_cast<std::size_t>(uncertain::Unknown::compute);
  uncertain::Believed believed;
  believed.lows[compute] = -0.3;
  believed.highs[compute] = 0.4;
  PointOutcome before = predicted(2, believed), after = predicted(1, believed);
  before.predicted->response.place.compute = after.predicted->response.place.compute = 0.2;
  before.predicted->response.place.computes = "fp32";
  after.predicted->response.place.computes = "amp";
  const Gain apart = gain_of(before, after, false);
  EXPECT_NEAR(apart.high, 2 * std::exp(0.5) - 1, 1e-12);
  EXPECT_NEAR(apart.low, 2 * std::exp(-0.5) - 1, 1e-12);
  EXPECT_EQ(apart.hangs_on, uncertain::Unknown::compute);
  after.predicted->response.place.computes = "fp32";
  const Gain alike = gain_of(before, after, false);
  EXPECT_NEAR(alike.low, 1, 1e-12);
  EXPECT_NEAR(alike.high, 1, 1e-12);
}

json advice_on(const std::string& text, std::vector<std::string> arguments = {}) {
  const test::Folder folder;
  folder.write("scenario.yaml", text);
  arguments.insert(arguments.begin(), {"advise", "scenario.yaml", "--json", "-"});
  const auto ended = test::paceline(arguments, folder.path());
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  return json::parse(ended.out);
}

const std::string one_gpu = changed(pair_of_nodes, "nodes: 2", "nodes: 1");

// One GPU: 6 ms of layers and 1 ms of optimizer. Eight passes a step take 49 ms, not 56.
TEST(Advise, SetsWhatAltersTrainingApart) {
  const json advice = advice_on(one_gpu);
  ASSERT_EQ(advice.at("suggestions").size(), 1U);
  const json& only = advice.at("suggestions").at(0);
  EXPECT_EQ(only.at("option"), "accumulation");
  EXPECT_TRUE(only.at("alters_training"));
  EXPECT_NEAR(only.at("gain").at("throughput"), 56.0 / 49 - 1, 1e-12);
  EXPECT_EQ(only.at("command"),
            "paceline run scenario.yaml --set training.gradient_accumulation=8");
}

TEST(Advise, SaysWhenNothingIsWorthIt) {
  const test::Folder folder;
  folder.write("scenario.yaml", changed(one_gpu, "time: 1ms", "time: 0ms"));
  const auto ended = test::paceline({"advise", "scenario.yaml"}, folder.path());
  EXPECT_NE(ended.out.find("\nnothing gains more than 0.0 % (of "), std::string::npos) << ended.out;
}

// Each command predicts what its suggestion says.
TEST(Advise, GivesCommandsThatPredictTheSame) {
  const test::Folder folder;
  folder.write("scenario.yaml", changed(changed(pair_of_nodes, "10Gbps", "10MBps"),
                                        "{library: plan, algorithm: ring}", "{library: nccl}") +
                                    "sweep: {gpus: [1, 2]}\n");
  const auto ended = test::paceline({"advise", "scenario.yaml", "--json", "-"}, folder.path());
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  const json advice = json::parse(ended.out);
  EXPECT_EQ(advice.at("gpus"), 2);
  EXPECT_EQ(advice.at("limit").at("by"), "exposed communication");
  ASSERT_GE(advice.at("suggestions").size(), 3U);
  double before = 1e300;
  for (const json& one : advice.at("suggestions")) {
    const std::string command =
        PACELINE_BINARY + one.at("command").get<std::string>().substr(8) + " --json - --quiet";
    const auto run = test::run_program({"/bin/sh", "-c", command}, folder.path());
    ASSERT_EQ(run.exit_code, 0) << command << run.err;
    const double throughput =
        json::parse(run.out).at("points").at(0).at("predicted").at("throughput_per_s");
    EXPECT_DOUBLE_EQ(throughput, one.at("throughput_per_s")) << command;
    EXPECT_NEAR(throughput / advice.at("throughput_per_s").get<double>() - 1,
                one.at("gain").at("throughput"), 1e-12);
    EXPECT_LE(one.at("gain").at("throughput"), before);
    before = one.at("gain").at("throughput");
  }
}

// Steps of a GPU in bf16 that nobody measured may take any time that fp32's do not tell, but on the
// same GPU both have what else a description leaves open.
TEST(Advise, AsksToMeasureWhatAGainHangsOn) {
  const test::Folder folder;
  folder.write("scenario.yaml",
               "schema: paceline/1\nname: a\n"
               "workload: {model: resnet50, batch_per_gpu: 64, precision: tf32, device: "
               "a100-sxm4-40gb, single_gpu_throughput: 800 samples/s}\n"
               "cluster: {preset: dgx-a100}\ngpus: 8\ntraining: {strategy: ddp}\n");
  const auto ended = test::paceline({"advise", "scenario.yaml", "--json", "a.json"}, folder.path());
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  const json advice = json::parse(test::text_of(folder.path() / "a.json"));
  bool has_question = false;
  for (const json& one : advice.at("suggestions")) {
    const bool may_be_nothing = one.at("gain").at("low") <= 0;
    EXPECT_EQ(one.at("measure_first").is_string(), may_be_nothing) << one;
    has_question |= may_be_nothing && one.at("option") == "precision";
  }
  EXPECT_TRUE(has_question) << advice;
  EXPECT_NE(ended.out.find("\nmay gain nothing; measure first: a step of one GPU with this "
                           "(workload.single_gpu_throughput):\n  precision: precision=amp "),
            std::string::npos)
      << ended.out;
}

TEST(Advise, TriesOtherFrameworksWhereTheyAreAsked) {
  const std::string text = changed(pair_of_nodes, "bulk_synchronous", "ddp");
  const int of_framework = advice_on(text).at("variants");
  const int of_all = advice_on(text, {"--strategies", "all"}).at("variants");
  EXPECT_GT(of_all, of_framework);
  const test::Folder folder;
  folder.write("scenario.yaml", small_scenario);
  test::expect_refused(
      test::paceline({"advise", "scenario.yaml", "--strategies", "some"}, folder.path()),
      "paceline: --strategies: \"some\" is not known; known: framework, all");
}

TEST(Advise, TakesTheGpusThatAreAsked) {
  const std::string swept = changed(pair_of_nodes, "", "sweep: {gpus: [1, 2]}\n");
  EXPECT_EQ(advice_on(swept).at("gpus"), 2);
  EXPECT_EQ(advice_on(swept, {"--gpus", "1"}).at("gpus"), 1);
  const test::Folder folder;
  folder.write("scenario.yaml", small_scenario);
  test::expect_refused(
      test::paceline({"advise", "scenario.yaml", "--gpus", "3"}, folder.path()),
      "paceline: --gpus 3: gpus \"3\" does not fill nodes of 2 GPUs; write a multiple of 2");
}

}  // namespace
}  // namespace paceline::advise
