#include <algorithm>
#include <optional>

#include "models/collectives/algorithms.h"
#include "models/collectives/rounds.h"
#include "models/contract.h"

namespace paceline::collectives {
namespace {

struct Servers {
  std::uint32_t ranks;
  std::uint32_t count;
  bool separate;
  Partition shares;

  [[nodiscard]] Rank endpoint(std::uint32_t server) const {
    if (separate) return Rank(ranks + server);
    return Rank(static_cast<std::uint32_t>(std::uint64_t{server} * ranks / count));
  }
  [[nodiscard]] std::optional<std::uint32_t> server_at(Rank endpoint_asked) const {
    const std::uint32_t e = index(endpoint_asked);
    if (separate) return e < ranks ? std::nullopt : std::optional(e - ranks);
    // The least k with k*p/s >= e.
    const auto server = static_cast<std::uint32_t>((std::uint64_t{e} * count + ranks - 1) / ranks);
    return server < count && endpoint(server) == endpoint_asked ? std::optional(server)
                                                                : std::nullopt;
  }
  // The ranks but a server's own.
  [[nodiscard]] std::vector<Rank> others(Rank server) const {
    return without(server, ranks_from(0, ranks));
  }
  // The servers that a rank talks to.
  [[nodiscard]] std::vector<Rank> of(Rank rank) const {
    std::vector<Rank> result;
    for (std::uint32_t k = 0; index(rank) < ranks && k < count; ++k) {
      if (endpoint(k) != rank) result.push_back(endpoint(k));
    }
    return result;
  }
  [[nodiscard]] ChunkRule share_of(Rank server) const {
    return ChunkRule::always(shares.chunk(*server_at(server)));
  }
};

Round push(const Servers& servers) {
  return {1,
          [=](Rank rank) {
            Sends sends;
            for (const Rank server : servers.of(rank)) {
              sends.push_back({server, servers.share_of(server), Arrival::reduce});
            }
            return sends;
          },
          [=](Rank rank) {
            return servers.server_at(rank) ? servers.others(rank) : std::vector<Rank>{};
          }};
}

Round pull(const Servers& servers) {
  return {1,
          [=](Rank endpoint) {
            Sends sends;
            if (!servers.server_at(endpoint)) return sends;
            for (const Rank rank : servers.others(endpoint)) {
              sends.push_back({rank, servers.share_of(endpoint), Arrival::copy});
            }
            return sends;
          },
          [=](Rank rank) { return servers.of(rank); }};
}

std::uint32_t server_count(const PlanRequest& request) {
  const std::uint32_t ranks = request.ranks.value(), asked = request.options.servers;
  return std::clamp(asked == 0 ? ranks / request.ranks_per_node : asked, 1U, ranks);
}

}  // namespace

Plan parameter_server_all_reduce(const PlanRequest& request) {
  PACELINE_EXPECTS(request.ranks.value() % request.ranks_per_node == 0);
  Plan plan{Collective::all_reduce, request.ranks, request.count, Rank(0), {}};
  if (request.ranks <= RankCount(1)) return plan;
  const std::uint32_t count = server_count(request);
  const bool separate = request.options.separate_servers;
  const Servers servers{request.ranks.value(), count, separate,
                        Partition::even({ElementCount(0), request.count}, count)};
  plan.servers = separate ? count : 0;
  plan.channels.push_back({{push(servers), pull(servers)}});
  return plan;
}

}  // namespace paceline::collectives
