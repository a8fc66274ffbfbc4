#include <gtest/gtest.h>

#include "models/collectives/algorithms.h"
#include "models/collectives/embedding.h"
#include "tests/models/collectives/plan_check.h"

namespace paceline::collectives {
namespace {

PlanRequest request_of(std::uint32_t ranks, std::uint64_t count, std::uint32_t root) {
  return {RankCount(ranks), ElementCount(count), ElementSize(4), Rank(root), {}};
}

// Up to more ranks than a word has bits.
TEST(DirectWithServers, LeavesTheSumAtTheServerAndTakesItFromThere) {
  for (const std::uint32_t ranks : {1U, 2U, 5U, 63U, 64U, 65U, 130U}) {
    for (const std::uint32_t server : {0U, 2U}) {
      for (const std::uint64_t count : {0U, 1U, 7U}) {
        for (const auto build : {direct_reduce, direct_broadcast}) {
          const Plan plan = build(request_of(ranks, count, ranks + server));
          EXPECT_EQ(plan.endpoints(), RankCount(ranks + server + 1));
          EXPECT_EQ(find_fault(plan), std::nullopt) << ranks << " ranks, server " << server;
          EXPECT_EQ(transfer_count(plan), count == 0 ? 0 : ranks);
        }
      }
    }
  }
}

TEST(DirectWithServers, IsFoundWrongWhenARankIsLeftOut) {
  for (const auto build : {direct_reduce, direct_broadcast}) {
    Plan plan = build(request_of(3, 5, 3));
    Round& round = plan.channels.front().rounds.front();
    const Rank out(1);
    round.sends = [before = round.sends, out](Rank rank) {
      Sends sends = before(rank);
      if (rank == out) return Sends{};
      std::erase_if(sends, [out](const Send& send) { return send.to == out; });
      return sends;
    };
    round.sources = [before = round.sources, out](Rank rank) {
      auto sources = before(rank);
      if (rank == out) return std::vector<Rank>{};
      std::erase(sources, out);
      return sources;
    };
    EXPECT_NE(find_fault(plan), std::nullopt);
  }
}

TEST(DirectWithServers, HasNoOtherServerThanTheRootAsRoot) {
  Plan plan = direct_reduce(request_of(3, 5, 3));
  plan.root = Rank(4);
  EXPECT_EQ(find_fault(plan), "the root is no rank");
  PlanRequest request = request_of(3, 5, 0);
  request.options.separate_servers = true;
  plan = parameter_server_all_reduce(request);
  plan.root = Rank(3);
  EXPECT_EQ(find_fault(plan), "the root is no rank");
}

// Two nodes of two: lines 0, 2 and 1, 3; server 1 is endpoint 5.
TEST(OnEveryLine, ServersServeEveryLine) {
  const Axis across{2, 2};
  const Rank server(5);
  const std::vector<Rank> by_line{Rank(0), Rank(2), Rank(1), Rank(3)};
  const Plan push = on_every_line(across, direct_reduce(request_of(2, 8, 3)), RankCount(4));
  EXPECT_EQ(push.servers, 2U);
  const Round& in = push.channels.front().rounds.front();
  EXPECT_EQ(in.sources(server), by_line);
  EXPECT_TRUE(in.sources(Rank(4)).empty());
  for (const Rank rank : by_line) {
    ASSERT_EQ(in.sends(rank).size(), 1U);
    EXPECT_EQ(in.sends(rank).front().to, server);
  }
  const Plan pull = on_every_line(across, direct_broadcast(request_of(2, 8, 3)), RankCount(4));
  const Round& out = pull.channels.front().rounds.front();
  std::vector<Rank> receivers;
  for (const Send& send : out.sends(server)) receivers.push_back(send.to);
  EXPECT_EQ(receivers, by_line);
  for (const Rank rank : by_line) EXPECT_EQ(out.sources(rank), std::vector<Rank>{server});
}

}  // namespace
}  // namespace paceline::collectives
