#include <algorithm>

#include "models/collectives/algorithms.h"
#include "models/collectives/rounds.h"
#include "models/contract.h"

namespace paceline::collectives {
namespace {

constexpr std::uint64_t segment_bytes_max = 1 << 20;  // kMaxSegmentSize, gloo/allreduce.cc
constexpr std::uint32_t segments_under_way = 2;       // the two phases' loops keep two posted

std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; }

}  // namespace

Plan segmented_ring_all_reduce(const PlanRequest& request) {
  Plan plan{Collective::all_reduce, request.ranks, request.count, Rank(0), {}};
  const std::uint64_t ranks = request.ranks.value();
  if (ranks <= 1) return plan;
  PACELINE_EXPECTS(request.element_size > ElementSize(0));

  const Bytes size = request.count * request.element_size;
  const std::uint64_t at_least =
      std::max(divide_up(size.value(), segment_bytes_max), segments_under_way * ranks);
  const std::uint64_t per_rank = divide_up(at_least, ranks);
  const std::uint64_t segments = per_rank * ranks;
  const std::uint64_t block =
      divide_up(divide_up(size.value(), segments), request.element_size.value());
  const Partition partition =
      Partition::blocks({ElementCount(0), request.count}, segments, ElementCount(block));

  const auto ring = rings_of(request).front();
  // Both phases walk down through the segments. Reduce-scatter starts with the last segment of the
  // chunk before one's own, all-gather with the last of one's own.
  const auto phase = [&](Arrival arrival, std::int64_t chunk_shift) {
    return ring_round(ring, segments - per_rank, arrival,
                      [ring, partition, per_rank, chunk_shift](Rank rank) {
                        const std::int64_t chunk =
                            static_cast<std::int64_t>(ring->position[index(rank)]) - chunk_shift;
                        const auto last = (chunk + 1) * static_cast<std::int64_t>(per_rank) - 1;
                        return ChunkRule{partition, last, -1, true};
                      });
  };
  plan.channels.push_back(
      {{phase(Arrival::reduce, 1), phase(Arrival::copy, 0)}, segments_under_way});
  return plan;
}

}  // namespace paceline::collectives
