// `paceline replay`, and `workload.trace` of scenarios, through the built program.

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/scenarios/process.h"
#include "traces/learn/traced_step.h"
#include "traces/step_trace_file/step_trace_file.h"

namespace paceline::test {
namespace replay_test {

using collectives::Collective;
using nlohmann::json;
using traces::TracedSpan;
using training::LaneKind;
using training::OperationKind;

TracedSpan compute(const char* name, OperationKind kind, double from_ms, double to_ms,
                   std::vector<ElementCount> gradients = {}) {
  TracedSpan span{name, kind, 0, Seconds(from_ms * 1e-3), Seconds(to_ms * 1e-3), Bytes(0), ""};
  span.gradients = std::move(gradients);
  return span;
}

TracedSpan bucket(std::uint64_t elements, double from_ms, double to_ms) {
  return {"allreduce",           OperationKind::collective, 1,  Seconds(from_ms * 1e-3),
          Seconds(to_ms * 1e-3), Bytes(4 * elements),       "", Collective::all_reduce,
          ElementSize(4)};
}

// Of a run that had more ranks than were traced, `world` is how many, on nodes of two.
std::string file_of(std::vector<std::vector<TracedSpan>> ranks,
                    std::optional<std::uint32_t> world = std::nullopt) {
  std::vector<traces::TracedRanks> classes;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    classes.push_back({{Rank(r)}, std::move(ranks[r])});
  }
  const traces::TraceRun run{
      "a run",
      traces::Origin::imported,
      traces::inferred_step(
          {{"compute", LaneKind::compute}, {"communication", LaneKind::communication}}, classes),
      8,
      {},
      world,
      world ? std::optional(2U) : std::nullopt};
  std::ostringstream text;
  traces::write_step_traces(text, {run});
  return text.str();
}

constexpr std::uint64_t million = 1'000'000;

// Gradients of a million elements each at 15 and 20 ms, in one bucket that took no time, and 2 ms
// of optimizer.
std::string one_gpu() {
  return file_of(
      {{compute("b", OperationKind::backward, 0, 15, {ElementCount(million)}),
        compute("a", OperationKind::backward, 15, 20, {ElementCount(million)}),
        bucket(2 * million, 20, 20), compute("optimizer", OperationKind::optimizer, 20, 22)}});
}

// Rank 1 is ready at 30 ms, rank 0 at 20; 10 ms of transfer, 2 of optimizer.
std::string two_ranks() {
  const auto rank = [](double ready) {
    return std::vector{compute("a", OperationKind::backward, 0, ready, {ElementCount(million)}),
                       bucket(million, ready, 40),
                       compute("optimizer", OperationKind::optimizer, 40, 42)};
  };
  return file_of({rank(20), rank(30)});
}

json points_of(const std::vector<std::string>& arguments, const Folder& folder) {
  auto all = arguments;
  all.insert(all.end(), {"--json", "-"});
  const Ended ended = paceline(all, folder.path());
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  return ended.exit_code == 0 ? json::parse(ended.out)["points"] : json::array();
}

double step_ms(const json& point) { return point["predicted"]["step_s"].get<double>() * 1e3; }

std::string scenario(const std::string& workload, const std::string& strategy) {
  return "schema: paceline/1\nname: traced\nworkload: {" + workload +
         "}\ncluster: {nodes: 2, gpus_per_node: 1, network: {bandwidth: 1GBps}}\n"
         "collective: {library: plan, algorithm: ring}\ntraining: {strategy: " +
         strategy + "}\n";
}

const std::vector<std::string> ring_at_1_gb{"--set", "collective={library: plan, algorithm: ring}",
                                            "--set", "cluster.network={bandwidth: 1GBps}"};

std::vector<std::string> with_ring(std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), ring_at_1_gb.begin(), ring_at_1_gb.end());
  return arguments;
}

TEST(Replay, TakesWhatTheTraceTook) {
  const Folder folder;
  folder.write("two.trace", two_ranks());
  const json points = points_of({"replay", "two.trace"}, folder);
  ASSERT_EQ(points.size(), 1U);
  EXPECT_EQ(points[0]["gpus"], 2);
  EXPECT_NEAR(step_ms(points[0]), 42, 1e-9);
  EXPECT_NEAR(points[0]["measured"]["step_s"], 42e-3, 1e-12);
  EXPECT_NEAR(points[0]["error_percent"], 0, 1e-9);
  EXPECT_NEAR(points[0]["predicted"]["throughput_per_s"], 2 * 8 / 42e-3, 1e-6);
}

// Predicted steps come out as they were, too, whose ranks leave a ring at different times.
TEST(Replay, TakesWhatAPredictionTook) {
  const Folder folder;
  const std::string shipped =
      std::string(PACELINE_SOURCE_DIR) + "/scenarios/library/dlperf-bert-base-v100-batch32.yaml";
  const json predicted =
      points_of({"run", shipped, "--set", "sweep.gpus=[16]", "--trace", "predicted.trace"}, folder);
  const json points = points_of({"replay", "predicted.trace"}, folder);
  EXPECT_NEAR(step_ms(points.at(0)) / step_ms(predicted.at(0)), 1, 1e-6);
  EXPECT_TRUE(points[0]["measured"].is_null());
}

// 1 ms of compute before each of some collectives of 1 ms, which compute waits for.
std::string many_calls(int calls) {
  std::vector<TracedSpan> rank;
  for (int i = 0; i < calls; ++i) {
    rank.push_back(compute("layer", OperationKind::forward, 2 * i, 2 * i + 1));
    rank.push_back(bucket(million + 1000 * static_cast<std::uint64_t>(i), 2 * i + 1, 2 * i + 2));
  }
  return file_of({rank});
}

TEST(Replay, TakesAStepOfUpToTenThousandCollectives) {
  const Folder folder;
  folder.write("many.trace", many_calls(10'000));
  const Ended done = paceline({"replay", "many.trace", "--json", "-"}, folder.path());
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_NEAR(step_ms(json::parse(done.out)["points"].at(0)), 20'000, 1e-6);
  folder.write("more.trace", many_calls(10'001));
  const Ended more = paceline({"replay", "more.trace"}, folder.path());
  EXPECT_EQ(more.exit_code, 2);
  EXPECT_EQ(
      more.err,
      "paceline: more.trace: trace \"more.trace\" contains a step of 10001 collectives, more than "
      "the 10000 that can be replayed; record a shorter step, such as one without gradient "
      "accumulation\n");
}

// NCCL takes trees there, whose ranks are all different: following those over 128 nodes takes
// minutes. The slowest of 512 ranks takes 3.04 spreads of 3.2 % more, of 1,024 3.25.
TEST(Replay, FoldsManyCallsOrSimulatesThemAloneWhereTheyAreTooManyToFollow) {
  const Folder folder;
  folder.write("many.trace", many_calls(400));
  const auto step_on = [&](int gpus, double spreads, const std::string& note) {
    const json points = points_of({"replay", "many.trace", "--set", "cluster.preset=dgx-a100",
                                   "--set", "gpus=" + std::to_string(gpus)},
                                  folder);
    EXPECT_NE(points[0].dump().find("folded: " + note), std::string::npos);
    return step_ms(points.at(0)) - 400 * (1 + spreads * 0.032);
  };
  const double on_512 =
                   step_on(512, 3.04, "transfers that share links are assumed to stay in step"),
               on_1024 = step_on(1024, 3.25, "too many ranks of trees over nodes to follow");
  EXPECT_GT(on_512, 400 * 0.27);
  EXPECT_GT(on_1024, on_512);
  EXPECT_LT(on_1024, 400 * 0.4);
}

// Rank 0 is ready at 50 ms then: 10 ms of transfer and 5 of its optimizer.
TEST(Replay, MakesOneRankSlower) {
  const Folder folder;
  folder.write("two.trace", two_ranks());
  const json points = points_of({"replay", "two.trace", "--set", "ranks.slowdown.0=2.5"}, folder);
  EXPECT_NEAR(step_ms(points.at(0)), 50 + 10 + 5, 1e-9);
  EXPECT_TRUE(points[0]["measured"].is_null());
}

// A ring of p on 1 GB/s takes 2(p-1)/p of 8 ms: 8 and 12 ms behind 20, and 2 ms.
TEST(Replay, SendsTheTracesBucketsOnAnotherCluster) {
  const Folder folder;
  folder.write("one.trace", one_gpu());
  const json points =
      points_of(with_ring({"replay", "one.trace", "--set", "sweep.gpus=[1, 2, 4]"}), folder);
  ASSERT_EQ(points.size(), 3U);
  EXPECT_NEAR(step_ms(points[0]), 22, 1e-9);
  EXPECT_NEAR(step_ms(points[1]), 30, 1e-9);
  EXPECT_NEAR(step_ms(points[2]), 34, 1e-9);
  EXPECT_NEAR(points[2]["predicted"]["speedup"], 4 * 22.0 / 34, 1e-9);
}

// With a bucket a gradient, of 4 ms on two ranks: 15 + 4 = 19, then 20 + 4 and 2.
TEST(Replay, FillsBucketsAnew) {
  const Folder folder;
  folder.write("one.trace", one_gpu());
  const json points = points_of(with_ring({"replay", "one.trace", "--set", "gpus=2", "--set",
                                           "sweep.training.bucket_cap=[1KiB, 100MiB]", "--set",
                                           "training.first_bucket=100MiB"}),
                                folder);
  ASSERT_EQ(points.size(), 2U);
  const json small = points_of(
      with_ring({"replay", "one.trace", "--set", "gpus=2", "--set", "training.bucket_cap=1KiB"}),
      folder);
  EXPECT_NEAR(step_ms(points[1]), 30, 1e-9);
  EXPECT_NEAR(step_ms(small.at(0)), 26, 1e-9);
}

// 16-bit gradients take half as long: 20 + 4 + 2.
TEST(Replay, SendsGradientsOfAnotherType) {
  const Folder folder;
  folder.write("one.trace", one_gpu());
  const json points = points_of(
      with_ring({"replay", "one.trace", "--set", "gpus=2", "--set",
                 "workload.precision={gradient: fp16}", "--set", "training.first_bucket=100MiB"}),
      folder);
  EXPECT_NEAR(step_ms(points.at(0)), 26, 1e-9);
}

// Rank 1's compute is 32 of rank 0's 22 ms: it is as much slower when buckets are filled anew. The
// median of two is the quicker: 20 * 32 / 22 + 4 + 2 * 32 / 22.
TEST(Replay, KeepsStragglersWhenBucketsAreFilledAnew) {
  const Folder folder;
  folder.write("two.trace", two_ranks());
  const json points =
      points_of(with_ring({"replay", "two.trace", "--set", "training.strategy=ddp"}), folder);
  EXPECT_NEAR(step_ms(points.at(0)), 22 * 32.0 / 22 + 4, 1e-9);
}

// Ranks 0 and 2 as rank 0, 1 and 3 as rank 1: 30 ms, a ring of four, 6 ms on 1 GB/s, and 2 ms.
// Filled anew: 22 ms, 32 / 22 times as long, and 6 ms.
TEST(Replay, KeepsTheSlowRankOnMoreRanks) {
  const Folder folder;
  folder.write("two.trace", two_ranks());
  for (const char* strategy : {"traced", "ddp"}) {
    const json points = points_of(with_ring({"replay", "two.trace", "--set", "gpus=4", "--set",
                                             std::string("training.strategy=") + strategy}),
                                  folder);
    EXPECT_NEAR(step_ms(points.at(0)), 30 + 6 + 2, 1e-9) << strategy;
    EXPECT_NE(points[0].dump().find("ranks: 4 compute, and begin as late, as the 2 that were "
                                    "traced, in turn"),
              std::string::npos)
        << points[0].dump();
  }
}

// Rank 1 begins 10 ms behind rank 0 and computes as long: 20 + 10 + 6 + 2 ms. Filled anew its 32 ms
// until it is done are 32 / 22 of compute.
TEST(Replay, KeepsTheLateRankOnMoreRanks) {
  const Folder folder;
  const auto rank = [](double late) {
    return std::vector{
        compute("late", OperationKind::input, 0, late),
        compute("a", OperationKind::backward, late, late + 20, {ElementCount(million)}),
        bucket(million, late + 20, 40), compute("optimizer", OperationKind::optimizer, 40, 42)};
  };
  folder.write("late.trace", file_of({rank(0), rank(10)}));
  for (const char* strategy : {"traced", "ddp"}) {
    const json points = points_of(with_ring({"replay", "late.trace", "--set", "gpus=4", "--set",
                                             std::string("training.strategy=") + strategy}),
                                  folder);
    EXPECT_NEAR(step_ms(points.at(0)), 10 + 20 + 6 + 2, 1e-9) << strategy;
  }
  const json alone = points_of(with_ring({"replay", "late.trace", "--set", "gpus=1"}), folder);
  EXPECT_NEAR(step_ms(alone.at(0)), 22, 1e-9);
}

// One step of 42 ms, of which nothing is predicted: no link is described, or to be measured.
TEST(Replay, IsAsSureAsTheTraceOfWhatItTook) {
  const Folder folder;
  folder.write("two.trace", two_ranks());
  const Ended ended = paceline({"replay", "two.trace"}, folder.path());
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(ended.out.find("network"), std::string::npos) << ended.out;
  EXPECT_EQ(ended.out.find("measure next"), std::string::npos) << ended.out;
  const json points = points_of({"replay", "two.trace"}, folder);
  EXPECT_NEAR(points.at(0)["predicted"]["step_s_low"], 42e-3, 1e-12);
  EXPECT_NEAR(points.at(0)["predicted"]["step_s_high"], 42e-3, 1e-12);
}

// Pushes and pulls go to the servers again, on hosts of their own and beside workers, where NCCL
// would send chains.
TEST(Replay, SendsToParameterServersAsTheRunDid) {
  const Folder folder;
  const std::string cluster =
      "{gpus_per_node: 2, intra_node: {bandwidth: 50GBps}, "
      "network: {bandwidth: 100Gbps, latency: 5us, transport: tcp}}";
  for (const char* settings : {"server_hosts: own", "server_hosts: beside_workers",
                               "server_hosts: beside_workers, hierarchical: false"}) {
    folder.write("served.yaml",
                 "schema: paceline/1\nname: served\ngpus: 4\nworkload: {device: v100-sxm2-16gb, "
                 "batch_per_gpu: 8, layers: [{name: a, forward: 3ms, backward: 6ms, parameters: "
                 "[4000000]}]}\ncluster: " +
                     cluster + "\ncollective: {library: gloo}\ntraining: {strategy: " +
                     "parameter_server, " + settings + "}\n");
    const json ran = points_of({"run", "served.yaml", "--trace", "served.trace"}, folder);
    const json replayed = points_of({"replay", "served.trace", "--set", "gpus=4", "--set",
                                     "cluster=" + cluster, "--set", "collective.library=gloo"},
                                    folder);
    EXPECT_NEAR(step_ms(replayed.at(0)) / step_ms(ran.at(0)), 1, 1e-6) << settings;
  }
}

TEST(WorkloadTrace, IsFoundBesideTheScenario) {
  const Folder folder;
  folder.write("one.trace", one_gpu());
  folder.write("traced.yaml", scenario("trace: one.trace", "traced"));
  const json points = points_of({"run", (folder.path() / "traced.yaml").string()}, Folder());
  EXPECT_NEAR(step_ms(points.at(0)), 30, 1e-9);
  EXPECT_NEAR(points[0]["predicted"]["throughput_per_s"], 2 * 8 / 30e-3, 1e-6);
}

// 8 samples in 11 ms on one GPU: everything takes half as long.
TEST(WorkloadTrace, IsRescaledToAMeasurement) {
  const Folder folder;
  folder.write("one.trace", one_gpu());
  const std::string workload =
      "trace: one.trace, single_gpu_throughput: 727.2727272727273 samples/s";
  for (const char* strategy : {"traced", "bulk_synchronous"}) {
    folder.write("traced.yaml", scenario(workload, strategy));
    EXPECT_NEAR(step_ms(points_of({"run", "traced.yaml"}, folder).at(0)), 10 + 8 + 1, 1e-6)
        << strategy;
  }
}

// Two ranks take 42 ms for what one does in 22: 2 * 22 / 42.
TEST(CompareTraces, GivesTheMeasuredSpeedup) {
  const Folder folder;
  folder.write("one.trace", one_gpu());
  folder.write("two.trace", two_ranks());
  const Ended ended = paceline({"compare", "one.trace", "two.trace", "--json", "-"}, folder.path());
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  const json pair = json::parse(ended.out).at("pairs").at(0);
  EXPECT_EQ(pair["gpus"], 1);
  EXPECT_EQ(pair["b_gpus"], 2);
  EXPECT_NEAR(pair["speedup"], 2 * 22.0 / 42, 1e-9);
  EXPECT_NEAR(pair["difference_s"], 20e-3, 1e-12);
  const Ended told = paceline({"compare", "one.trace", "two.trace"}, folder.path());
  EXPECT_NE(told.out.find("speedup of 2 over 1: 1.05"), std::string::npos) << told.out;
}

// Runs of one file are told apart by their names.
TEST(CompareTraces, FindsNoDifferenceBetweenAFileAndItself) {
  const Folder folder;
  folder.write("sweep.yaml", scenario("trace: one.trace", "traced") +
                                 "sweep: {cluster.network.bandwidth: [1GBps, 2GBps]}\n");
  folder.write("one.trace", one_gpu());
  ASSERT_EQ(paceline({"run", "sweep.yaml", "--trace", "runs.trace"}, folder.path()).exit_code, 0);
  const Ended ended =
      paceline({"compare", "runs.trace", "runs.trace", "--json", "-"}, folder.path());
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  const json pairs = json::parse(ended.out).at("pairs");
  ASSERT_EQ(pairs.size(), 2U);
  for (const json& pair : pairs) EXPECT_EQ(pair["difference_s"], 0.0);
}

TEST(Import, WritesWhatReplayTakes) {
  const Folder folder;
  const std::string fixture =
      std::string(PACELINE_SOURCE_DIR) + "/tests/fixtures/kineto/with_metadata.json";
  const Ended written = paceline({"import", fixture, "-o", "step.trace"}, folder.path());
  ASSERT_EQ(written.exit_code, 0) << written.err;
  EXPECT_NE(written.out.find("the step that replay takes: "), std::string::npos) << written.out;
  EXPECT_NE(written.out.find("critical path:"), std::string::npos) << written.out;
  const json raw = points_of({"replay", fixture}, folder);
  const json kept = points_of({"replay", "step.trace"}, folder);
  EXPECT_EQ(raw.at(0)["predicted"]["step_s"], kept.at(0)["predicted"]["step_s"]);
}

void expect_refused(const Folder& folder, const std::vector<std::string>& arguments,
                    const std::string& said) {
  const Ended ended = paceline(arguments, folder.path());
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_NE(ended.err.find(said), std::string::npos) << ended.err;
  EXPECT_EQ(std::ranges::count(ended.err, '\n'), 1) << ended.err;
}

TEST(WorkloadTrace, RefusesWhatATraceCannotGive) {
  const Folder folder;
  folder.write("one.trace", one_gpu());
  const auto refused = [&](const std::string& workload, const std::string& strategy,
                           const std::string& said) {
    folder.write("traced.yaml", scenario(workload, strategy));
    expect_refused(folder, {"run", "traced.yaml"}, said);
  };
  refused("trace: one.trace, device: v100-sxm2-16gb", "traced",
          "traced.yaml:3:38: device cannot be combined with trace");
  refused("model: resnet50, device: v100-sxm2-16gb, batch_per_gpu: 32", "traced",
          "needs a trace to replay");
  refused("trace: one.trace, calls: as_traced", "ddp", "makes its own collectives");
  refused("trace: one.trace, calls: as_traced", "traced",
          "calls as traced need 1 ranks, and the cluster has 2");
  refused("trace: one.trace, precision: {gradient: fp16}", "traced",
          "sends gradients in the type of the trace");
  refused("trace: none.trace", "traced", "none.trace");
  folder.write("empty.trace", "");
  refused("trace: empty.trace", "traced", "empty.trace");
}

TEST(Replay, AsksForTheNetworkOfAnotherWorld) {
  const Folder folder;
  folder.write("one.trace", one_gpu());
  expect_refused(folder, {"replay", "one.trace", "--set", "gpus=4"},
                 "on no known network; --set cluster.network.bandwidth=");
}

TEST(Replay, RefusesWhatTheTraceHasOfItsOwn) {
  const Folder folder;
  folder.write("one.trace", one_gpu());
  const auto refused = [&](const std::string& setting, const std::string& said) {
    expect_refused(folder,
                   with_ring({"replay", "one.trace", "--set", "gpus=2", "--set",
                              "training.strategy=traced", "--set", setting}),
                   said);
  };
  refused("training.optimizer.time=100ms", "is as the trace has it");
  refused("training.input_time=100ms", "is as the trace has it");
  refused("training.host.per_call=1ms", "is as the trace has it");
  expect_refused(folder,
                 with_ring({"replay", "one.trace", "--set", "gpus=2", "--set",
                            "training.host.per_operation=1ms"}),
                 "is in the compute that was traced; leave it out");
  refused("training.gradient_accumulation=4", "is as the trace has it");
  refused("training.collectives_in_flight=2", "is as the trace has it");
  refused("workload.precision=fp16", "is that of the trace's device");
  refused("contention=assumed", "a trace does not contain it");
}

// An all-to-all is no gradient: no strategy but the trace's own sends it.
TEST(Replay, CannotFillBucketsBesideOtherCollectives) {
  const Folder folder;
  auto other = bucket(million, 0, 1);
  other.collective = Collective::all_to_all;
  folder.write(
      "moe.trace",
      file_of({{other, compute("a", OperationKind::backward, 1, 2, {ElementCount(million)}),
                bucket(million, 2, 3), compute("b", OperationKind::optimizer, 3, 4)}}));
  expect_refused(
      folder,
      with_ring({"replay", "moe.trace", "--set", "gpus=2", "--set", "training.bucket_cap=1MiB"}),
      "reduces gradients only, and the trace contains 1 other collectives");
}

TEST(Replay, SweepsWhatIsSwept) {
  const Folder folder;
  folder.write("two.trace", two_ranks());
  const json points = points_of(
      {"replay", "two.trace", "--set", "sweep.ranks.jitter=[0%, 5%]", "--seed", "3"}, folder);
  ASSERT_EQ(points.size(), 2U);
  EXPECT_NEAR(step_ms(points[0]), 42, 1e-9);
  EXPECT_TRUE(points[0]["measured"].is_null());
}

TEST(Replay, CannotFillBucketsWithoutGradients) {
  const Folder folder;
  folder.write("bare.trace",
               file_of({{compute("a", OperationKind::forward, 0, 1), bucket(million, 1, 2),
                         compute("b", OperationKind::optimizer, 2, 3)}}));
  expect_refused(
      folder,
      with_ring({"replay", "bare.trace", "--set", "gpus=2", "--set", "training.bucket_cap=1MiB"}),
      "the trace contains none");
}

// A bucket a gradient of a million floats, 4 ms of ring on two ranks: 15 + 4, then 20 + 4 and 2.
TEST(Replay, FillsBucketsOfAProfileWithoutAny) {
  const Folder folder;
  folder.write("plain.trace",
               file_of({{compute("b", OperationKind::backward, 0, 15, {ElementCount(million)}),
                         compute("a", OperationKind::backward, 15, 20, {ElementCount(million)}),
                         compute("optimizer", OperationKind::optimizer, 20, 22)}}));
  const json points = points_of(with_ring({"replay", "plain.trace", "--set", "gpus=2"}), folder);
  EXPECT_NEAR(step_ms(points.at(0)), 26, 1e-9);
}

TEST(Replay, RefusesToCallCommunicationFreeThatIsNotKnown) {
  const Folder folder;
  folder.write("bare.trace", file_of({{compute("a", OperationKind::forward, 0, 100),
                                       compute("b", OperationKind::optimizer, 100, 102)}}));
  expect_refused(folder, with_ring({"replay", "bare.trace", "--set", "gpus=64"}),
                 "has no collectives to predict: the trace contains none; profile a rank of "
                 "DistributedDataParallel with record_shapes=True");
  const json alone = points_of(with_ring({"replay", "bare.trace", "--set", "gpus=1"}), folder);
  EXPECT_NEAR(step_ms(alone.at(0)), 102, 1e-9);
}

// A call of a group of one takes no time, whatever it would elsewhere.
TEST(Replay, RefusesToGuessACallWhoseSizeIsNotTold) {
  const Folder folder;
  auto untold = bucket(million, 20, 20);
  untold.size = Bytes(0);
  const auto run = [&](std::optional<std::uint32_t> world) {
    return file_of({{compute("a", OperationKind::backward, 0, 20), untold,
                     compute("optimizer", OperationKind::optimizer, 20, 22)}},
                   world);
  };
  folder.write("untold.trace", run(std::nullopt));
  expect_refused(folder, with_ring({"replay", "untold.trace", "--set", "gpus=4"}),
                 "cannot predict 1 of the trace's 1 collectives");
  // Where it is a thousandth of the step, and the ranks are those of the run, it takes what it
  // took.
  untold.end = untold.end + Seconds(0.02e-3);
  folder.write("short.trace", run(4));
  const json points =
      points_of(with_ring({"replay", "short.trace", "--set", "cluster.gpus_per_node=1"}), folder);
  EXPECT_EQ(points.at(0)["gpus"], 4);
}

// ResNet-18 has 62 tensors of 11,689,512 floats: 46.758048 ms of ring on two ranks.
TEST(WorkloadTrace, TakesTheGradientsOfANamedNetwork) {
  const Folder folder;
  std::vector<TracedSpan> spans{compute("forward", OperationKind::forward, 0, 38)};
  for (int i = 0; i < 62; ++i) {
    spans.push_back(
        compute("gradient", OperationKind::backward, 38 + i, 39 + i, {ElementCount(0)}));
  }
  spans.push_back(compute("optimizer", OperationKind::optimizer, 100, 102));
  folder.write("events.trace", file_of({spans}));
  folder.write("bare.trace", file_of({{compute("step", OperationKind::forward, 0, 102)}}));
  for (const char* name : {"events", "bare"}) {
    folder.write("traced.yaml", scenario(std::string("trace: ") + name + ".trace, model: resnet18",
                                         "bulk_synchronous"));
    const json points = points_of({"run", "traced.yaml"}, folder);
    EXPECT_NEAR(step_ms(points.at(0)), 102 + 46.758048, 1e-6) << name;
  }
  folder.write("traced.yaml", scenario("trace: events.trace, model: resnet50", "ddp"));
  expect_refused(folder, {"run", "traced.yaml"}, "has 62 gradients, and resnet50 has 161 tensors");
}

// One rank's file of four on two nodes. A ring of four takes 2 * 3 / 4 of 4 ms at 1 GB/s.
TEST(Replay, HasAsManyGpusAsTheRunHad) {
  const Folder folder;
  folder.write(
      "one-of-four.trace",
      file_of({{compute("a", OperationKind::backward, 0, 20, {ElementCount(million)}),
                bucket(million, 20, 30), compute("optimizer", OperationKind::optimizer, 30, 32)}},
              4));
  expect_refused(folder, with_ring({"replay", "one-of-four.trace"}),
                 "ran on nodes of 2 GPUs, whose links are not known; --set "
                 "cluster.intra_node.bandwidth=");
  const auto replayed = with_ring(
      {"replay", "one-of-four.trace", "--set", "cluster.intra_node={bandwidth: 1000GBps}"});
  const json points = points_of(replayed, folder);
  EXPECT_EQ(points.at(0)["gpus"], 4);
  EXPECT_EQ(points.at(0)["nodes"], 2);
  EXPECT_NEAR(step_ms(points.at(0)), 20 + 6 + 2, 0.01);
  std::vector<std::string> with_assumptions = replayed;
  with_assumptions.emplace_back("--assumptions");
  const std::string said = paceline(with_assumptions, folder.path()).out;
  EXPECT_NE(said.find("ranks: 4, as in the traced run; set gpus for another number"),
            std::string::npos)
      << said;
  const json two = points_of(with_ring({"replay", "one-of-four.trace", "--set", "gpus=2", "--set",
                                        "cluster.gpus_per_node=1"}),
                             folder);
  EXPECT_NEAR(step_ms(two.at(0)), 20 + 4 + 2, 1e-9);
}

}  // namespace replay_test
}  // namespace paceline::test
