// Microseconds a simulated transfer: one ring all-reduce on a flat network, each run in a process
// of its own (SimGrid has one engine a process), engine and platform included.

#include <benchmark/benchmark.h>

#include <chrono>
#include <utility>

#include "sim/flow/flow_step.h"
#include "sim/folded/predicted_point.h"
#include "tests/sim/isolated.h"

namespace paceline {
namespace {

ResolvedPoint ring_point(std::uint32_t ranks) {
  ResolvedPoint point;
  point.cluster.nodes = ranks;
  point.cluster.network.bandwidth = BytesPerSecond(12.5e9);
  point.cluster.network.latency = Seconds(3e-6);
  const auto lane = point.program.add_lane({"communication", training::LaneKind::communication});
  point.program.add(
      {"call",
       training::OperationKind::collective,
       lane,
       {},
       training::CollectiveCall{collectives::Collective::all_reduce,
                                ElementCount(std::uint64_t{ranks} * 100'000), ElementSize(4),
                                Rank(0), training::SimulatedCall{"ring"}}});
  return point;
}

template <class Predict>
void run_ring(benchmark::State& state, Predict predict) {
  const auto ranks = static_cast<std::uint32_t>(state.range(0));
  const ResolvedPoint point = ring_point(ranks);
  double transfers = 0;
  for ([[maybe_unused]] auto iteration : state) {
    const auto [seconds, count] = sim::isolated([&] {
      const auto start = std::chrono::steady_clock::now();
      const Result result = predict(point);
      const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
      return std::pair{taken.count(), static_cast<double>(result.transfers)};
    });
    state.SetIterationTime(seconds);
    transfers += count;
  }
  state.counters["transfers"] = benchmark::Counter(transfers, benchmark::Counter::kAvgIterations);
  state.counters["per_transfer"] =
      benchmark::Counter(transfers, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void flow_ring(benchmark::State& state) { run_ring(state, sim::simulate_flow); }
void folded_ring(benchmark::State& state) { run_ring(state, sim::predict_folded); }

BENCHMARK(flow_ring)->Arg(64)->Arg(256)->Arg(1024)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK(folded_ring)
    ->Arg(64)
    ->Arg(256)
    ->Arg(1024)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace paceline

BENCHMARK_MAIN();
