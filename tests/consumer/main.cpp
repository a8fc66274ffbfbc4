// Adds an algorithm, a strategy and a format of logs to paceline's libraries from outside, and
// shows that these use them: exits with 1 where they do not. With arguments it is a paceline that
// has all three.

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "models/collectives/registry.h"
#include "models/training/step_builder.h"
#include "models/training/strategy.h"
#include "scenarios/cli/command.h"
#include "sim/folded/predicted_point.h"
#include "traces/formats/formats.h"
#ifdef CONSUMER_HAS_SIM
#include "sim/flow/flow_step.h"
#endif

namespace {

using namespace paceline;
using collectives::Arrival;
using collectives::ChunkRule;
using collectives::Collective;
using collectives::Plan;
using collectives::PlanRequest;
using collectives::Round;
using collectives::Sends;
using training::BuiltStep;
using training::OperationId;
using training::StrategyRequest;

void expect(bool holds, const char* what) {
  std::printf("%s: %s\n", holds ? "ok" : "FAILED", what);
  if (!holds) std::exit(1);
}

// ---- An algorithm: every rank sends its whole buffer to rank 0, which sends the sum to all.

Plan star_all_reduce(const PlanRequest& request) {
  const std::uint32_t ranks = request.ranks.value();
  Plan plan{Collective::all_reduce, request.ranks, request.count, Rank(0), {}};
  if (ranks == 1) return plan;
  const ChunkRule whole = ChunkRule::always({ElementCount(0), request.count});
  std::vector<Rank> others;
  for (std::uint32_t rank = 1; rank < ranks; ++rank) others.push_back(Rank(rank));
  const Round up{1,
                 [=](Rank from) {
                   return from == Rank(0) ? Sends{} : Sends{{Rank(0), whole, Arrival::reduce}};
                 },
                 [=](Rank to) { return to == Rank(0) ? others : std::vector<Rank>{}; }};
  const Round down{
      1,
      [=](Rank from) {
        Sends sends;
        if (from != Rank(0)) return sends;
        for (const Rank to : others) sends.push_back({to, whole, Arrival::copy});
        return sends;
      },
      [=](Rank to) { return to == Rank(0) ? std::vector<Rank>{} : std::vector{Rank(0)}; }};
  plan.channels.push_back({{up, down}});
  return plan;
}

// ---- A strategy: one all-reduce for each layer, or for some together, after their backward.

BuiltStep build_layer_by_layer(const StrategyRequest& request) {
  const auto layers_together = request.settings.get<std::uint64_t>("layers_together");
  training::StepBuilder step(request);
  step.forward({});
  std::vector<OperationId> reduced;
  training::Bucket bucket;
  std::uint64_t layers = 0;
  step.backward([&](const workload::TimedLayer& layer, std::size_t first, OperationId backward) {
    for (std::size_t i = 0; i < layer.parameters.size(); ++i) bucket.push_back(first + i);
    if (bucket.empty() || (++layers % layers_together != 0 && first > 0)) return;
    reduced.push_back(step.all_reduce("gradients to " + layer.name, bucket, {backward}));
    bucket.clear();
  });
  return {step.finish(reduced), {}};
}

constexpr settings::Key layer_by_layer_keys[]{{"layers_together", settings::Count{1, 1000},
                                               settings::Value(std::uint64_t{1}),
                                               "layers whose gradients are reduced in one call"}};
constexpr training::TriedKey layer_by_layer_tries[]{{"layers_together", {"4", "16"}}};

constinit const training::Strategy layer_by_layer{
    .name = "layer_by_layer",
    .summary = "an all-reduce for each layer, after its backward",
    .keys = layer_by_layer_keys,
    .build = build_layer_by_layer,
    .tries = layer_by_layer_tries,
};

// ---- A format of logs: "lab-log all_reduce RANKS", then a line "BYTES MICROSECONDS" for each
// size.

constexpr std::string_view lab_mark = "lab-log all_reduce ";

bool is_lab_log(std::string_view text) { return text.starts_with(lab_mark); }

std::vector<traces::CollectiveLog> read_lab_log(std::string_view text) {
  traces::CollectiveLog log;
  log.collective = Collective::all_reduce;
  const char* next = text.data() + lab_mark.size();
  const char* const end = text.data() + text.size();
  next = std::from_chars(next, end, log.ranks).ptr;
  std::uint64_t bytes = 0, microseconds = 0;
  for (std::size_t line = 2; next < end; ++line) {
    next = std::from_chars(next + 1, end, bytes).ptr;
    if (next >= end) break;
    next = std::from_chars(next + 1, end, microseconds).ptr;
    log.rows.push_back({line, Bytes(bytes), {Seconds(static_cast<double>(microseconds) / 1e6)}});
  }
  return {log};
}

// Four GPUs, each with a port of 1 GB/s without latency. The gradients of the only layer, a million
// floats, are 4 MB: rank 0's port takes three of them in 12 ms, and sends three in 12 ms.
constexpr Seconds star_time(0.024);

ResolvedPoint point_with_both() {
  workload::Workload work;
  work.layers = {{"only",
                  Seconds(0.001),
                  Seconds(0.002),
                  {{"only.weight", ElementCount(1'000'000), workload::DataType::float32}},
                  {}}};
  ResolvedPoint point;
  point.cluster.gpus_per_node = 4;
  point.cluster.intra_node.bandwidth = BytesPerSecond(1e9);
  point.cluster.network.bandwidth = BytesPerSecond(1e9);
  const auto* strategy = training::find_strategy("layer_by_layer");
  expect(strategy != nullptr, "the strategy is found by its name");
  const settings::Settings none(strategy->keys);
  const training::CommonSettings common;
  const BuiltStep built = build_step(*strategy, {work, point.cluster, none, common});
  expect(built.assumptions.has(training::unmeasured_strategy), "nobody measured it, which it says");
  point.program = built.program;
  for (training::Operation& operation : point.program.operations) {
    if (auto* call = std::get_if<training::CollectiveCall>(&operation.work)) {
      call->how = training::SimulatedCall{"star"};
    }
  }
  return point;
}

void check_algorithm() {
  const auto* row = collectives::find_algorithm(Collective::all_reduce, "star");
  expect(row != nullptr, "the algorithm is found by its name");
}

void check_format() {
  const auto logs = traces::read_collective_logs("lab-log all_reduce 8\n1024 17\n2048 19\n");
  expect(logs.size() == 1 && logs[0].ranks == 8 && logs[0].rows.size() == 2, "the log is read");
  expect(logs[0].rows[1].size == Bytes(2048) && logs[0].rows[1].times[0] == Seconds(19e-6),
         "its rows are those of the text");
  expect(traces::read_collective_logs("size(B),time(us)\n1024,17\n").size() == 1,
         "logs of shipped formats are read as before");
}

void check_step() {
  const ResolvedPoint point = point_with_both();
  const Result predicted = sim::predict_folded(point);
  expect(std::abs((predicted.totals.communication - star_time).value()) < 1e-9,
         "the step with both takes its time by formulas");
#ifdef CONSUMER_HAS_SIM
  const std::string reply = sim::reply_to(point);
  expect(reply.find("\"communication_s\":0.024") != std::string::npos ||
             reply.find("\"communication_s\": 0.024") != std::string::npos,
         "and on SimGrid");
#endif
}

}  // namespace

int main(int argc, char** argv) {
  collectives::add_algorithm({Collective::all_reduce, "star", star_all_reduce,
                              "whole buffers to rank 0, and the sum to all"});
  training::add_strategy(layer_by_layer);
  traces::add_collective_log_format({"lab log", is_lab_log, read_lab_log});
  if (argc > 1) return cli::run_main(argc, argv);
  check_algorithm();
  check_format();
  check_step();
}
