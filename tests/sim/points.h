#pragma once

#include <cstdint>
#include <string>

#include "models/run/resolved_point.h"

namespace paceline::sim {

// p nodes of one GPU, each with one full-duplex link into one switch.
inline topology::Cluster flat(std::uint32_t ranks, double bandwidth, double latency) {
  topology::Cluster cluster;
  cluster.nodes = ranks;
  cluster.network.bandwidth = BytesPerSecond(bandwidth);
  cluster.network.latency = Seconds(latency);
  return cluster;
}

// How a call that is simulated is carried out.
inline training::SimulatedCall& simulated(training::CollectiveCall& call) {
  return std::get<training::SimulatedCall>(call.how);
}

// Of that many floats.
inline training::CollectiveCall all_reduce(const std::string& algorithm, std::uint64_t count) {
  return {collectives::Collective::all_reduce, ElementCount(count), ElementSize(4), Rank(0),
          training::SimulatedCall{algorithm}};
}

inline ResolvedPoint one_call(const topology::Cluster& cluster,
                              const training::CollectiveCall& call) {
  ResolvedPoint point;
  point.cluster = cluster;
  point.program = training::one_call_program(call);
  return point;
}

}  // namespace paceline::sim
