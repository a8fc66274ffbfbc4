#pragma once

#include <cstdint>
#include <vector>

#include "models/topology/cluster.h"

namespace paceline::cost {

// How long the rounds of an NVLS plan (collectives/nvls.h) last on links that nothing else uses,
// without latency, when all channels are in step: each as long as the link does that has the most
// to carry in it. In the first and the last rounds some have less or nothing.
class NvlsRounds {
 public:
  // Precondition: nodes of several GPUs on NVSwitch.
  explicit NvlsRounds(const topology::Cluster& cluster);

  // What passes the links when all rounds are like those of a long call.
  [[nodiscard]] BytesPerSecond bandwidth() const;
  // Of a buffer of that size whose parts are cut in chunks of at most `chunk`.
  [[nodiscard]] Seconds time_of(double size, double chunk) const;

 private:
  // What a node does in one of the trees.
  struct Vertex {
    std::int64_t depth, children, parents;
    friend auto operator<=>(const Vertex&, const Vertex&) = default;
  };
  [[nodiscard]] std::int64_t filling() const { return 3 + 2 * deepest_; }  // rounds
  [[nodiscard]] double channels() const { return gpus_ * static_cast<double>(trees_); }
  // Of a byte a chunk, in round number `round` of a pipeline of that many chunks.
  [[nodiscard]] double seconds_per_byte(std::int64_t round, std::int64_t chunks) const;

  double gpus_, heads_on_a_nic_, seconds_per_local_byte_, seconds_per_remote_byte_;
  std::size_t trees_;
  std::int64_t deepest_;
  std::vector<std::vector<Vertex>> nodes_;  // by tree; nodes that do the same stand once
};

}  // namespace paceline::cost
