#include "tests/models/collectives/plan_check.h"

#include <gtest/gtest.h>

#include <utility>

#include "models/collectives/algorithms.h"
#include "models/collectives/registry.h"
#include "tests/models/collectives/requests.h"

namespace paceline::collectives {
namespace {

// The same plan with every repeat as a round of its own, so that one transfer can be changed.
Plan unrolled(const Plan& plan) {
  Plan result = plan;
  for (Channel& channel : result.channels) {
    std::vector<Round> rounds;
    for (const Round& round : channel.rounds) {
      for (std::uint64_t i = 0; i < round.repeats; ++i) {
        const auto sends = [before = round.sends, i](Rank rank) {
          auto sent = before(rank);
          for (Send& send : sent) send.chunk = ChunkRule::always(send.chunk.at(i));
          return sent;
        };
        rounds.push_back({1, sends, round.sources});
      }
    }
    channel.rounds = std::move(rounds);
  }
  return result;
}

using EditSends = std::function<void(std::vector<Send>&)>;
using EditSources = std::function<void(std::vector<Rank>&)>;

void edit_sends(Round& round, Rank of, EditSends edit) {
  round.sends = [before = round.sends, of, edit = std::move(edit)](Rank rank) {
    auto sends = before(rank);
    if (rank == of) edit(sends);
    return sends;
  };
}

void edit_sources(Round& round, Rank of, EditSources edit) {
  round.sources = [before = round.sources, of, edit = std::move(edit)](Rank rank) {
    auto sources = before(rank);
    if (rank == of) edit(sources);
    return sources;
  };
}

EditSources without(Rank gone) {
  return [gone](std::vector<Rank>& sources) { std::erase(sources, gone); };
}

EditSources with(Rank added) {
  return [added](std::vector<Rank>& sources) { sources.push_back(added); };
}

EditSends sends_range(ElementRange instead) {
  return [instead](std::vector<Send>& sends) { sends[0].chunk = ChunkRule::always(instead); };
}

EditSends arrives_as(Arrival arrival) {
  return [arrival](std::vector<Send>& sends) { sends[0].arrival = arrival; };
}

EditSends sends_to(Rank to) {
  return [to](std::vector<Send>& sends) { sends[0].to = to; };
}

// Four ranks, eight elements, so chunk q is elements 2q and 2q+1. Rounds 0..2 reduce: in round i
// rank r sends chunk r-1-i to rank r+1. Rounds 3..5 copy: rank r sends chunk r-(i-3).
class RingMutant {
 public:
  explicit RingMutant(std::vector<RingOrder> orders = {})
      : plan_(unrolled(ring_all_reduce(
            {RankCount(4), ElementCount(8), ElementSize(4), Rank(0), std::move(orders)}))) {}

  Round& round(std::size_t number) { return plan_.channels[0].rounds[number]; }
  Plan& plan() { return plan_; }

 private:
  Plan plan_;
};

void expect_fault(const Plan& plan, const std::string& fragment) {
  const auto fault = find_fault(plan);
  ASSERT_TRUE(fault) << "no fault found, expected: " << fragment;
  EXPECT_NE(fault->find(fragment), std::string::npos) << *fault;
}

TEST(Check, FindsNothingInARightPlan) {
  RingMutant ring;
  EXPECT_EQ(find_fault(ring.plan()), std::nullopt);
}

// Rank 2 keeps chunk 0 of round 1, so that ranks 1 and 2 never reach it.
TEST(Check, RejectsADroppedTransfer) {
  RingMutant ring;
  edit_sends(ring.round(1), Rank(2), [](std::vector<Send>& sends) { sends.clear(); });
  edit_sources(ring.round(1), Rank(3), without(Rank(2)));
  expect_fault(ring.plan(), "rank 0 does not hold the due result of element 0");
}

TEST(Check, RejectsATransferSentTwice) {
  RingMutant ring;
  edit_sends(ring.round(1), Rank(2),
             [](std::vector<Send>& sends) { sends.push_back(Send(sends[0])); });
  expect_fault(ring.plan(), "rank 3: adds a contribution twice");
}

// Rank 1 sends chunk 3 in round 0 and chunk 0 in round 1: too late for rank 2 to pass it on.
TEST(Check, RejectsSwappedChunks) {
  RingMutant ring;
  edit_sends(ring.round(0), Rank(1), sends_range(range(6, 2)));
  edit_sends(ring.round(1), Rank(1), sends_range(range(0, 2)));
  expect_fault(ring.plan(), "rank 0 does not hold the due result of element 0");
}

// Rank 0 passes chunk 3 on in the round in which it comes, and so sends its own part of it only; it
// does not send chunk 0 at all.
TEST(Check, RejectsAReducedChunkSentInTheRoundInWhichItArrives) {
  RingMutant ring;
  edit_sends(ring.round(3), Rank(0), sends_range(range(6, 2)));
  expect_fault(ring.plan(), "rank 1 does not hold the due result of element 0");
}

TEST(Check, RejectsSendingWhatOneDoesNotHold) {
  const PlanRequest request{RankCount(4), ElementCount(8), ElementSize(4), Rank(0), {}};
  Plan gather = unrolled(ring_all_gather(request));
  edit_sends(gather.channels[0].rounds[0], Rank(1), sends_range(range(0, 2)));  // rank 0's chunk
  expect_fault(gather, "channel 0, round 0, rank 1: sends elements that it does not hold");
}

TEST(Check, RejectsAWrongPeer) {
  RingMutant unexpected;
  edit_sends(unexpected.round(3), Rank(0), sends_to(Rank(2)));
  expect_fault(unexpected.plan(), "round 3, rank 2: does not expect what rank 0 sends");

  RingMutant expected = unexpected;  // now sources say the same
  edit_sources(expected.round(3), Rank(2), with(Rank(0)));
  edit_sources(expected.round(3), Rank(1), without(Rank(0)));
  expect_fault(expected.plan(), "rank 1 does not hold the due result of element 0");
}

// Rank 3 may as well add rank 1's part of chunk 0 before rank 2's: rank 2 then sends its own only.
TEST(Check, AcceptsAnotherWayToTheSameResult) {
  RingMutant ring;
  edit_sends(ring.round(0), Rank(1), sends_to(Rank(3)));
  edit_sources(ring.round(0), Rank(3), with(Rank(1)));
  edit_sources(ring.round(0), Rank(2), without(Rank(1)));
  EXPECT_EQ(find_fault(ring.plan()), std::nullopt);
}

// Rank 2 sends its part of chunk 1 instead of the finished chunk 2 (elements 4 and 5).
TEST(Check, RejectsAWrongChunk) {
  RingMutant ring;
  edit_sends(ring.round(3), Rank(2), sends_range(range(2, 2)));
  expect_fault(ring.plan(), "rank 0 does not hold the due result of element 4");
}

// Rank 2's own part of chunk 3 (elements 6 and 7) is overwritten.
TEST(Check, RejectsAReduceTurnedIntoACopy) {
  RingMutant ring;
  edit_sends(ring.round(1), Rank(1), arrives_as(Arrival::copy));
  expect_fault(ring.plan(), "rank 0 does not hold the due result of element 6");
}

TEST(Check, RejectsACopyTurnedIntoAReduce) {
  RingMutant ring;
  edit_sends(ring.round(3), Rank(0), arrives_as(Arrival::reduce));
  expect_fault(ring.plan(), "rank 1: adds a contribution twice");
}

// Where a rank holds nothing its buffer holds anything: adding to it is no copy.
TEST(Check, RejectsAReduceIntoElementsThatHoldNothing) {
  const PlanRequest request{RankCount(4), ElementCount(8), ElementSize(4), Rank(0), {}};
  Plan gather = unrolled(ring_all_gather(request));
  edit_sends(gather.channels[0].rounds[0], Rank(1), arrives_as(Arrival::reduce));
  expect_fault(gather, "rank 2");
}

// Channel 0 moves elements 0..3, channel 1 moves 4..7.
TEST(Check, RejectsAnElementMovedByTwoChannels) {
  RingOrder order{Rank(0), Rank(1), Rank(2), Rank(3)};
  RingMutant ring({order, order});
  ASSERT_EQ(find_fault(ring.plan()), std::nullopt);
  edit_sends(ring.plan().channels[1].rounds[0], Rank(1), sends_range(range(3, 1)));
  expect_fault(ring.plan(), "channel 1, round 0, rank 1: sends elements that another channel");
}

TEST(Check, RejectsSourcesThatDoNotMatchSends) {
  RingMutant missing;
  edit_sources(missing.round(1), Rank(2), without(Rank(1)));
  expect_fault(missing.plan(), "round 1, rank 2: does not expect what rank 1 sends");

  RingMutant extra;
  edit_sources(extra.round(1), Rank(2), with(Rank(3)));
  expect_fault(extra.plan(), "round 1, rank 2: waits for rank 3, which sends nothing");

  RingMutant unknown;
  edit_sources(unknown.round(1), Rank(2), with(Rank(9)));
  expect_fault(unknown.plan(), "round 1, rank 2: waits for rank 9, which sends nothing");

  RingMutant twice;
  edit_sources(twice.round(1), Rank(2), with(Rank(1)));
  expect_fault(twice.plan(), "round 1, rank 2: names a source twice");
}

TEST(Check, RejectsElementsOutsideTheBuffer) {
  RingMutant ring;
  edit_sends(ring.round(2), Rank(1), sends_range(range(7, 2)));
  expect_fault(ring.plan(), "channel 0, round 2, rank 1: sends elements outside the buffer");
}

TEST(Check, RejectsReceiversThatDoNotExist) {
  RingMutant missing;
  edit_sends(missing.round(0), Rank(3), sends_to(Rank(4)));
  expect_fault(missing.plan(), "rank 3: sends to a rank that does not exist");

  RingMutant itself;
  edit_sends(itself.round(0), Rank(3), sends_to(Rank(3)));
  expect_fault(itself.plan(), "rank 3: sends to itself");
}

// In round 1 of a ring every rank passes on what came in round 0, so it must have waited for it.
TEST(Check, RejectsAWindowThatIsTooWide) {
  Plan ring = ring_all_reduce({RankCount(4), ElementCount(8), ElementSize(4), Rank(0), {}});
  ring.channels[0].window = 2;
  expect_fault(ring, "channel 0, round 1, rank 3: sends elements that are still arriving");
  ring.channels[0].window = 0;
  expect_fault(ring, "channel 0 has window 0");
}

// Two ranks with blocks of two: rank 0's elements 2 and 3 land at rank 1's 4 and 5.
TEST(Check, FollowsABlockToWhereItLands) {
  const PlanRequest request{RankCount(2), ElementCount(4), ElementSize(4), Rank(0), {}};
  const Plan right = unrolled(pairwise_all_to_all(request));
  EXPECT_EQ(find_fault(right), std::nullopt);
  const auto with_shift = [&](std::int64_t shift) {
    Plan plan = right;
    edit_sends(plan.channels[0].rounds[0], Rank(0),
               [=](std::vector<Send>& sends) { sends[0].shift = shift; });
    return plan;
  };
  expect_fault(with_shift(3), "rank 1 does not hold the due result of element 4");
  expect_fault(with_shift(4), "rank 1 does not hold the due result of element 4");
  expect_fault(with_shift(5), "rank 0: sends elements outside the buffer");
  expect_fault(with_shift(-3), "rank 0: sends elements outside the buffer");

  Plan added = with_shift(-2);  // onto the elements that rank 1 has for rank 0
  edit_sends(added.channels[0].rounds[0], Rank(0), arrives_as(Arrival::reduce));
  expect_fault(added, "rank 1: adds another element");
}

// Of four ranks with two elements each, the root rank 2. In a scatter by a tree it first sends rank
// 0 what is for ranks 0 and 1; in a gather rank 0 sends it the same last.
TEST(Check, HoldsScatterAndGatherToTheOwnersOfChunks) {
  const PlanRequest request{RankCount(4), ElementCount(8), ElementSize(4), Rank(2), {}};
  Plan scatter = unrolled(find_algorithm(Collective::scatter, "binomial_tree")->build(request));
  ASSERT_EQ(find_fault(scatter), std::nullopt);
  edit_sends(scatter.channels[0].rounds[0], Rank(2), sends_range(range(0, 2)));
  expect_fault(scatter, "rank 0: sends elements that it does not hold");

  Plan gather = unrolled(find_algorithm(Collective::gather, "binomial_tree")->build(request));
  ASSERT_EQ(find_fault(gather), std::nullopt);
  Plan wrong_root = gather;
  wrong_root.root = Rank(0);
  expect_fault(wrong_root, "rank 0 does not hold the due result of element 4");
  edit_sends(gather.channels[0].rounds[1], Rank(0), sends_range(range(0, 2)));
  expect_fault(gather, "rank 2 does not hold the due result of element 2");
}

// The kinds above, on every transfer of every algorithm: each one is needed, with its very elements
// and its kind of arrival.
struct Place {
  std::size_t channel, round;
  Rank rank;
  std::size_t send;
};

template <class Visit>
void for_each_transfer(const Plan& plan, Visit visit) {
  for (std::size_t c = 0; c < plan.channels.size(); ++c) {
    for (std::size_t i = 0; i < plan.channels[c].rounds.size(); ++i) {
      for (std::uint32_t r = 0; r < plan.endpoints().value(); ++r) {
        const auto sends = plan.channels[c].rounds[i].sends(Rank(r));
        for (std::size_t s = 0; s < sends.size(); ++s) {
          if (sends[s].chunk.at(0).count > ElementCount(0))
            visit(Place{c, i, Rank(r), s}, sends[s]);
        }
      }
    }
  }
}

// The default options, and some drawn, with one order or two.
std::vector<PlanRequest> requests_to_edit() {
  std::mt19937_64 random(11);
  std::vector<PlanRequest> requests;
  for (const std::uint32_t ranks : {2U, 3U, 4U, 6U, 7U, 8U}) {
    const PlanRequest plain{RankCount(ranks), ElementCount(19), ElementSize(4), Rank(0), {}};
    requests.push_back(plain);
    for (std::uint32_t drawn = 0; drawn < 4; ++drawn) {
      PlanRequest& request = requests.emplace_back(plain);
      for (std::uint32_t order = 0; order <= drawn % 2; ++order) {
        request.orders.push_back(shuffled_order(ranks, random));
      }
      draw_options(request, random);
    }
  }
  return requests;
}

template <class Edit>
void expect_every_edit_is_found(const std::string& what, Edit edit) {
  for (const Algorithm& algorithm : algorithms()) {
    for (const PlanRequest& request : requests_to_edit()) {
      const Plan right = unrolled(algorithm.build(request));
      ASSERT_EQ(find_fault(right), std::nullopt) << describe(algorithm, request);
      std::vector<std::string> unseen;
      for_each_transfer(right, [&](Place place, const Send& send) {
        Plan mutant = right;
        Round& round = mutant.channels[place.channel].rounds[place.round];
        if (!edit(mutant, round, place, send) || find_fault(mutant)) return;
        unseen.push_back("round " + std::to_string(place.round) + ", rank " +
                         std::to_string(index(place.rank)) + " to rank " +
                         std::to_string(index(send.to)));
      });
      EXPECT_EQ(unseen.size(), 0U)
          << describe(algorithm, request) << ", " << what << ": the first unseen is "
          << (unseen.empty() ? "" : unseen.front());
    }
  }
}

TEST(Check, SeesEveryDroppedTransfer) {
  expect_every_edit_is_found("dropped", [](const Plan&, Round& round, Place place,
                                           const Send& send) {
    edit_sends(round, place.rank, [place](std::vector<Send>& sends) {
      sends.erase(sends.begin() + static_cast<std::ptrdiff_t>(place.send));
    });
    const auto left = round.sends(place.rank);
    if (std::none_of(left.begin(), left.end(), [&](const Send& s) { return s.to == send.to; })) {
      edit_sources(round, send.to, without(place.rank));
    }
    return true;
  });
}

TEST(Check, SeesEveryElementLeftOut) {
  expect_every_edit_is_found(
      "first element left out", [](const Plan&, Round& round, Place place, const Send&) {
        edit_sends(round, place.rank, [place](std::vector<Send>& sends) {
          const ElementRange all = sends[place.send].chunk.at(0);
          sends[place.send].chunk =
              ChunkRule::always({all.begin + ElementCount(1), all.count - ElementCount(1)});
        });
        return true;
      });
}

bool turn_arrival(Round& round, Place place, const Send& send, Arrival from, Arrival to) {
  if (send.arrival != from) return false;
  edit_sends(round, place.rank,
             [place, to](std::vector<Send>& sends) { sends[place.send].arrival = to; });
  return true;
}

// Into a server's empty buffer the first arrival is a copy whatever it is called (plan.h).
TEST(Check, SeesEveryReduceTurnedIntoACopy) {
  expect_every_edit_is_found(
      "copied", [](const Plan& plan, Round& round, Place place, const Send& send) {
        const bool to_server = index(send.to) >= plan.ranks.value();
        if (to_server && round.sources(send.to).front() == place.rank) return false;
        return turn_arrival(round, place, send, Arrival::reduce, Arrival::copy);
      });
}

// As it is into a switch's, which lost the sum that it handed to a head.
TEST(Check, SeesEveryCopyTurnedIntoAReduce) {
  expect_every_edit_is_found(
      "reduced", [](const Plan& plan, Round& round, Place place, const Send& send) {
        const bool to_switch = index(send.to) >= plan.ranks.value() + plan.servers;
        return !to_switch && turn_arrival(round, place, send, Arrival::copy, Arrival::reduce);
      });
}

TEST(Check, SeesEveryReduceSentTwice) {
  expect_every_edit_is_found(
      "sent twice", [](const Plan&, Round& round, Place place, const Send& send) {
        if (send.arrival != Arrival::reduce) return false;
        edit_sends(round, place.rank,
                   [place](std::vector<Send>& sends) { sends.push_back(Send(sends[place.send])); });
        return true;
      });
}

}  // namespace
}  // namespace paceline::collectives
