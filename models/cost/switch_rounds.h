#pragma once

#include <cstdint>
#include <vector>

#include "models/collectives/plan.h"
#include "models/topology/cluster.h"

namespace paceline::cost {

// The times of the rounds of a plan through switches, without latency, on links that nothing else
// uses and with all channels in step: a round lasts as long as its busiest link.
class SwitchRounds {
 public:
  // Of nvls: an all-reduce, or in one node a reduce-scatter or an all-gather.
  // Precondition: nodes of several GPUs on NVSwitch.
  [[nodiscard]] static SwitchRounds of_nvls(collectives::Collective collective,
                                            const topology::Cluster& cluster);
  // Of CollNet, direct or along chains. Precondition: several nodes, of one GPU or on NVSwitch.
  [[nodiscard]] static SwitchRounds of_collnet_direct(const topology::Cluster& cluster);
  [[nodiscard]] static SwitchRounds of_collnet_chain(const topology::Cluster& cluster);

  // The bandwidth of a long call, all of whose rounds are full.
  [[nodiscard]] BytesPerSecond bandwidth() const;
  // For a buffer of `size` bytes in chunks of at most `chunk`.
  [[nodiscard]] Seconds time_of(double size, double chunk) const;

 private:
  // What chunk k has cross one way of a link in round k + `later`.
  struct Crossing {
    std::int64_t later;
    double chunks;
    friend auto operator<=>(const Crossing&, const Crossing&) = default;
  };
  struct Way {
    double seconds_per_byte;
    std::vector<Crossing> crossings;
    friend auto operator<=>(const Way&, const Way&) = default;
  };

  SwitchRounds(double channels, std::int64_t filling, std::vector<Way> ways);
  [[nodiscard]] static SwitchRounds of_all_reduce(const topology::Cluster& cluster);
  [[nodiscard]] static std::vector<Way> core_ways(const topology::Cluster& cluster);
  // Of a byte a chunk, in round number `round` of a pipeline of that many chunks.
  [[nodiscard]] double seconds_per_byte(std::int64_t round, std::int64_t chunks) const;

  double channels_;
  std::int64_t filling_;   // rounds that a chunk takes behind its first
  std::vector<Way> ways_;  // those that differ
};

}  // namespace paceline::cost
