#include "models/collectives/round_table.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/models/collectives/requests.h"

namespace paceline::collectives {
namespace {

void expect_agreement(const Round& round, std::uint32_t ranks, const std::string& where) {
  const RoundTable table(round, RankCount(ranks));
  ASSERT_EQ(table.repeats(), round.repeats) << where;
  std::size_t transfers = 0;
  for (std::uint32_t r = 0; r < ranks; ++r) {
    const auto sends = round.sends(Rank(r));
    const auto listed = table.sent_by(Rank(r));
    ASSERT_EQ(listed.size(), sends.size()) << where;
    for (std::size_t i = 0; i < sends.size(); ++i) {
      const auto& transfer = table.transfers()[listed[i]];
      ASSERT_EQ(transfer.from, Rank(r)) << where;
      ASSERT_EQ(transfer.to, sends[i].to) << where;
      ASSERT_EQ(transfer.arrival, sends[i].arrival) << where;
      for (const std::uint64_t repeat : {std::uint64_t{0}, round.repeats - 1}) {
        ASSERT_EQ(transfer.chunk.at(repeat), sends[i].chunk.at(repeat)) << where;
      }
    }
    std::set<Rank> from;
    for (const std::uint32_t id : table.received_by(Rank(r))) {
      ASSERT_EQ(table.transfers()[id].to, Rank(r)) << where;
      from.insert(table.transfers()[id].from);
    }
    const auto sources = round.sources(Rank(r));
    ASSERT_EQ(from, std::set(sources.begin(), sources.end())) << where << ", rank " << r;
    transfers += listed.size();
  }
  ASSERT_EQ(table.transfers().size(), transfers) << where;
}

TEST(RoundTable, SaysWhatSendsAndSourcesSay) {
  std::mt19937_64 random(5);
  for (const std::uint32_t ranks : {2U, 3U, 5U, 8U, 13U, 16U}) {
    for (const Algorithm& algorithm : algorithms()) {
      for (const Orders& orders : order_sets(ranks, random)) {
        PlanRequest request{RankCount(ranks), ElementCount(50), ElementSize(4), Rank(0), orders};
        draw_options(request, random);
        const Plan plan = algorithm.build(request);
        for (const Channel& channel : plan.channels) {
          for (const Round& round : channel.rounds) {
            expect_agreement(round, plan.endpoints().value(), describe(algorithm, request));
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

// Ranks 0 and 2 send to rank 1, rank 1 sends twice to rank 0, rank 3 does nothing.
TEST(RoundTable, ListsTransfersFromBothEnds) {
  const auto send = [](std::uint32_t to, std::uint64_t begin) {
    return Send{Rank(to), ChunkRule::always({ElementCount(begin), ElementCount(1)}),
                Arrival::reduce};
  };
  const std::vector<std::vector<Send>> sends{
      {send(1, 0)}, {send(0, 1), send(0, 2)}, {send(1, 3)}, {}};
  const Round round{1, [&](Rank rank) { return sends[index(rank)]; },
                    [](Rank) { return std::vector<Rank>{}; }};
  const RoundTable table(round, RankCount(4));
  const auto begins = [&](std::span<const std::uint32_t> ids) {
    std::vector<std::uint64_t> result;
    for (const auto id : ids) {
      result.push_back(table.transfers()[id].chunk.at(0).begin.value());
    }
    return result;
  };
  using List = std::vector<std::uint64_t>;
  EXPECT_EQ(begins(table.sent_by(Rank(0))), (List{0}));
  EXPECT_EQ(begins(table.sent_by(Rank(1))), (List{1, 2}));
  EXPECT_EQ(begins(table.sent_by(Rank(2))), (List{3}));
  EXPECT_EQ(begins(table.sent_by(Rank(3))), (List{}));
  EXPECT_EQ(begins(table.received_by(Rank(0))), (List{1, 2}));
  EXPECT_EQ(begins(table.received_by(Rank(1))), (List{0, 3}));
  EXPECT_EQ(begins(table.received_by(Rank(2))), (List{}));
  EXPECT_EQ(begins(table.received_by(Rank(3))), (List{}));
}

}  // namespace
}  // namespace paceline::collectives
