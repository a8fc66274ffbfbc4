#pragma once

#include <cstdint>

#include "models/run/resolved_point.h"

namespace paceline::test {

// Two layers' backward, a bucket each, an optimizer: 30 ms of compute.
inline ResolvedPoint step_of(std::uint32_t ranks, std::uint32_t in_flight) {
  using training::CollectiveCall;
  using training::OperationKind;
  ResolvedPoint point;
  point.id = 7;
  point.cluster.nodes = ranks;
  point.cluster.network.bandwidth = BytesPerSecond(1e9);
  auto& program = point.program;
  const auto compute = program.add_lane({"compute", training::LaneKind::compute});
  const auto communication =
      program.add_lane({"communication", training::LaneKind::communication, in_flight});
  const auto backward = [&](const char* name) {
    return program.add({name, OperationKind::backward, compute, {}, Seconds(0.01)});
  };
  const auto bucket = [&](const char* name, training::OperationId after) {
    CollectiveCall call{collectives::Collective::all_reduce, ElementCount(100'000), ElementSize(4),
                        Rank(0), training::SimulatedCall{"ring"}};
    return program.add({name, OperationKind::collective, communication, {after}, call});
  };
  const auto first = bucket("bucket 0", backward("second layer"));
  const auto second = bucket("bucket 1", backward("first layer"));
  program.add({"optimizer", OperationKind::optimizer, compute, {first, second}, Seconds(0.01)});
  point.measure = MeasureSettings{CollectiveMode::plan, 2, 5};
  return point;
}

}  // namespace paceline::test
