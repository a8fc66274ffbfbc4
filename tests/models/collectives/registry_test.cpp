#include "models/collectives/registry.h"

#include <gtest/gtest.h>

#include <deque>
#include <set>

#include "tests/models/collectives/plan_check.h"
#include "tests/models/collectives/requests.h"

namespace paceline::collectives {
namespace {

TEST(Registry, FindsEachRowByCollectiveAndName) {
  std::set<std::pair<Collective, std::string_view>> seen;
  for (const Algorithm& row : algorithms()) {
    EXPECT_TRUE(seen.emplace(row.collective, row.name).second) << row.name << " is there twice";
    EXPECT_EQ(find_algorithm(row.collective, row.name), &row);
    EXPECT_FALSE(row.name.empty());
    EXPECT_FALSE(row.summary.empty()) << row.name;
  }
  EXPECT_FALSE(seen.empty());
  EXPECT_EQ(find_algorithm(Collective::all_reduce, "no such algorithm"), nullptr);
  EXPECT_EQ(find_algorithm(Collective::all_reduce, ""), nullptr);
}

TEST(Registry, GroupsRowsByCollective) {
  std::vector<Collective> groups;
  for (const Algorithm& row : algorithms()) {
    if (groups.empty() || groups.back() != row.collective) groups.push_back(row.collective);
  }
  EXPECT_EQ(std::set(groups.begin(), groups.end()).size(), groups.size());
}

TEST(Registry, PlansAreForWhatWasAsked) {
  for (const Algorithm& row : algorithms()) {
    const PlanRequest request{RankCount(5), ElementCount(12), ElementSize(4), Rank(0), {}};
    const Plan plan = row.build(request);
    EXPECT_EQ(plan.collective, row.collective) << row.name;
    EXPECT_EQ(plan.ranks, request.ranks) << row.name;
    EXPECT_EQ(plan.count, request.count) << row.name;
    EXPECT_EQ(plan.root, request.root) << row.name;
  }
}

// The transfers of a plan, as text.
std::string transfers_text(const Plan& plan) {
  std::string text = std::to_string(plan.channels.size());
  for (const std::uint64_t sent : sent_in(plan)) text += " " + std::to_string(sent);
  return text + ", " + std::to_string(round_count(plan)) + " rounds";
}

// An option that a row does not name changes no plan of it, and one that it names changes some.
TEST(Registry, NamesTheOptionsThatAlgorithmsLookAt) {
  for (const Algorithm& row : algorithms()) {
    Traits seen;
    for (const auto& [per_node, nodes] : {std::pair(1U, 4U), {2U, 2U}, {4U, 1U}, {3U, 2U}}) {
      PlanRequest request = request_of_nodes(per_node, nodes, 960);
      const std::string plain = transfers_text(row.build(request));
      request.options.chunk_size = Bytes(64);
      seen.chunk_size = seen.chunk_size || transfers_text(row.build(request)) != plain;
      request.options.chunk_size = Bytes(0);
      const std::size_t channels = row.build(request).channels.size();
      request.options.channels = 2;
      std::mt19937_64 random(7);
      for (int order = 0; order < 2; ++order) {
        request.orders.push_back(shuffled_order(per_node * nodes, random));
      }
      seen.channels = seen.channels || row.build(request).channels.size() != channels;
    }
    EXPECT_EQ(seen.channels, row.traits.channels) << to_text(row.collective) << ' ' << row.name;
    EXPECT_EQ(seen.chunk_size, row.traits.chunk_size) << to_text(row.collective) << ' ' << row.name;
  }
}

TEST(Registry, OneRankHasNothingToSend) {
  for (const Algorithm& row : algorithms()) {
    const Plan plan = row.build({RankCount(1), ElementCount(10), ElementSize(4), Rank(0), {}});
    EXPECT_EQ(transfer_count(plan), 0U) << row.name;
    EXPECT_EQ(round_count(plan), 0U) << row.name;
    EXPECT_EQ(find_fault(plan), std::nullopt) << row.name;
  }
}

// All counts with rank order and with shuffled rings, two of them with each node-shaped ring.
// Rank order goes with the default options, the others with options drawn for each request.
template <class Visit>
void for_each_request(std::uint32_t ranks_max, Visit visit) {
  std::mt19937_64 random(2024);
  const std::vector<ElementSize> element_sizes{ElementSize(2), ElementSize(4), ElementSize(8)};
  for (std::uint32_t ranks = 1; ranks <= ranks_max; ++ranks) {
    const auto sets = order_sets(ranks, random);
    for (const Algorithm& algorithm : algorithms()) {
      for (std::size_t set = 0; set < sets.size(); ++set) {
        auto counts = counts_of_interest(ranks, random);
        if (set >= 3) counts = {counts[2], counts[4]};  // ranks-1 and the random one
        for (const ElementCount count : counts) {
          for (const Rank root : roots_of_interest(algorithm, ranks, random)) {
            const ElementSize element_size = element_sizes[random() % element_sizes.size()];
            PlanRequest request{RankCount(ranks), count, element_size, root, sets[set]};
            if (set > 0) draw_options(request, random);
            visit(algorithm, request);
            if (::testing::Test::HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

TEST(Registry, EveryPlanIsRightForAnyRanksCountsRootsAndOrders) {
  for_each_request(40, [](const Algorithm& algorithm, const PlanRequest& request) {
    const auto fault = find_fault(algorithm.build(request));
    ASSERT_EQ(fault, std::nullopt) << describe(algorithm, request) << ": " << *fault;
  });
}

// Executes a plan on numbers, by the text of plan.h alone: a rank sends what it held when it
// started a round, the arrivals of a round that is still in flight have not come, and arrivals
// reduce in the order of the sources.
class Execution {
 public:
  using Values = std::vector<std::uint64_t>;

  Execution(const Plan& plan, std::vector<Values> buffers)
      : plan_(plan), buffers_(std::move(buffers)) {
    for (const Channel& channel : plan.channels) run(channel);
  }

  [[nodiscard]] const std::vector<Values>& buffers() const { return buffers_; }

 private:
  struct Message {
    Rank to;
    std::size_t lands_at;
    Values values;
    Arrival arrival;
  };

  void run(const Channel& channel) {
    std::deque<std::vector<Message>> under_way;
    for (const Round& round : channel.rounds) {
      for (std::uint64_t repeat = 0; repeat < round.repeats; ++repeat) {
        if (under_way.size() == channel.window) {
          deliver(under_way.front());
          under_way.pop_front();
        }
        under_way.push_back(posted(round, repeat));
      }
    }
    for (const auto& messages : under_way) deliver(messages);
  }

  std::vector<Message> posted(const Round& round, std::uint64_t repeat) const {
    std::vector<Message> messages;
    for (std::uint32_t to = 0; to < plan_.endpoints().value(); ++to) {
      for (const Rank from : round.sources(Rank(to))) {
        for (const Send& send : round.sends(from)) {
          if (send.to != Rank(to)) continue;
          const ElementRange range = send.chunk.at(repeat);
          const auto first =
              buffers_[index(from)].begin() + static_cast<std::ptrdiff_t>(range.begin.value());
          const auto count = static_cast<std::ptrdiff_t>(range.count.value());
          const std::size_t lands_at = range.begin.value() + static_cast<std::size_t>(send.shift);
          messages.push_back({send.to, lands_at, {first, first + count}, send.arrival});
        }
      }
    }
    return messages;
  }

  void deliver(const std::vector<Message>& messages) {
    for (const Message& message : messages) {
      Values& buffer = buffers_[index(message.to)];
      for (std::size_t i = 0; i < message.values.size(); ++i) {
        std::uint64_t& value = buffer[message.lands_at + i];
        value = message.arrival == Arrival::copy ? message.values[i] : value + message.values[i];
      }
    }
  }

  const Plan& plan_;
  std::vector<Values> buffers_;
};

// What rank s had for this rank, in the receiving half.
void expect_blocks(const std::vector<Execution::Values>& before,
                   const std::vector<Execution::Values>& after, const PlanRequest& request) {
  const AllToAllBlocks blocks{request.ranks, request.count};
  for (std::uint32_t rank = 0; rank < request.ranks.value(); ++rank) {
    for (std::uint32_t from = 0; from < request.ranks.value(); ++from) {
      if (from == rank) continue;
      const ElementRange sent = blocks.sent(Rank(rank)), received = blocks.received(Rank(from));
      for (std::size_t i = 0; i < sent.count.value(); ++i) {
        ASSERT_EQ(after[rank][received.begin.value() + i], before[from][sent.begin.value() + i])
            << request.ranks.value() << " ranks, rank " << rank << " from " << from;
      }
    }
  }
}

// Ranks start with random numbers everywhere, also where nothing of theirs counts. Servers start
// with zeros, to which what arrives first may as well be added.
TEST(Registry, EveryPlanComputesItsCollectiveOnNumbers) {
  std::mt19937_64 random(7);
  for_each_request(17, [&](const Algorithm& algorithm, const PlanRequest& request) {
    const std::uint32_t ranks = request.ranks.value();
    const Plan plan = algorithm.build(request);
    const std::size_t size = buffer_size(plan).value();
    std::vector<Execution::Values> start(ranks, Execution::Values(size));
    Execution::Values sum(size);
    for (auto& buffer : start) {
      for (std::size_t i = 0; i < size; ++i) sum[i] += buffer[i] = random() % 1000000;
    }
    start.resize(plan.endpoints().value(), Execution::Values(size));
    const Execution execution(plan, start);
    if (algorithm.collective == Collective::all_to_all) {
      expect_blocks(start, execution.buffers(), request);
      return;
    }
    const auto chunks = Partition::even({ElementCount(0), request.count}, ranks);
    for (std::uint32_t chunk = 0; chunk < ranks; ++chunk) {
      const ElementRange owned = chunks.chunk(chunk);
      for (std::size_t i = owned.begin.value(); i < (owned.begin + owned.count).value(); ++i) {
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
          const bool is_root = Rank(rank) == request.root;
          const std::uint64_t held = execution.buffers()[rank][i];
          const auto where = [&] {
            return describe(algorithm, request) + ", rank " + std::to_string(rank) + ", element " +
                   std::to_string(i);
          };
          switch (algorithm.collective) {
            case Collective::all_reduce: ASSERT_EQ(held, sum[i]) << where(); break;
            case Collective::reduce_scatter:
              ASSERT_TRUE(rank != chunk || held == sum[i]) << where();
              break;
            case Collective::all_gather: ASSERT_EQ(held, start[chunk][i]) << where(); break;
            case Collective::broadcast:
              ASSERT_EQ(held, start[index(request.root)][i]) << where();
              break;
            case Collective::reduce: ASSERT_TRUE(!is_root || held == sum[i]) << where(); break;
            case Collective::scatter:
              ASSERT_TRUE(rank != chunk || held == start[index(request.root)][i]) << where();
              break;
            case Collective::gather:
              ASSERT_TRUE(!is_root || held == start[chunk][i]) << where();
              break;
            case Collective::all_to_all: break;
          }
        }
      }
    }
  });
}

using Shape = std::vector<std::vector<std::uint64_t>>;  // channel -> repeats of its rounds

Shape shape_of(const Plan& plan) {
  Shape shape;
  for (const Channel& channel : plan.channels) {
    auto& repeats = shape.emplace_back();
    for (const Round& round : channel.rounds) repeats.push_back(round.repeats);
  }
  return shape;
}

// Whom each endpoint sends to and how that arrives, whatever the sizes.
std::vector<std::vector<std::pair<Rank, Arrival>>> sends_of(const Plan& plan) {
  std::vector<std::vector<std::pair<Rank, Arrival>>> all;
  for (const Channel& channel : plan.channels) {
    for (const Round& round : channel.rounds) {
      for (std::uint32_t r = 0; r < plan.endpoints().value(); ++r) {
        auto& sends = all.emplace_back();
        for (const Send& send : round.sends(Rank(r))) sends.emplace_back(send.to, send.arrival);
      }
    }
  }
  return all;
}

// plan.h, Round. Counts that differ by a few elements mostly agree in the shape, others may.
TEST(Registry, PlansOfOneShapeSendBetweenTheSameEndpointsWhateverTheCount) {
  std::mt19937_64 random(31);
  std::size_t compared = 0;
  for_each_request(17, [&](const Algorithm& algorithm, PlanRequest request) {
    const Plan plan = algorithm.build(request);
    for (const ElementCount count : {request.count + ElementCount(1), ElementCount(1000)}) {
      request.count = count;
      const Plan other = algorithm.build(request);
      if (shape_of(plan) != shape_of(other)) continue;
      ++compared;
      ASSERT_EQ(plan.endpoints(), other.endpoints()) << describe(algorithm, request);
      ASSERT_EQ(sends_of(plan), sends_of(other)) << describe(algorithm, request);
    }
  });
  EXPECT_GT(compared, 1000U);
}

// Transfers are generated on demand, so this takes no time worth measuring; a plan that stored its
// transfers would need 16,384 * 32,766 of them for a ring.
TEST(Registry, APlanForManyRanksIsReadAtOneRankWithoutTheOthers) {
  const Rank reader(8191);
  for (const Algorithm& algorithm : algorithms()) {
    const Plan plan =
        algorithm.build({RankCount(16384), ElementCount(25 << 20), ElementSize(4), Rank(0), {}});
    std::uint64_t sent = 0;
    for (const Channel& channel : plan.channels) {
      for (const Round& round : channel.rounds) {
        for (const Send& send : round.sends(reader)) {
          EXPECT_LT(index(send.to), plan.endpoints().value());
          for (std::uint64_t i = 0; i < round.repeats; ++i) sent += send.chunk.at(i).count.value();
        }
      }
    }
    // At least its own contribution goes out, but for what ends in its hands. In a broadcast or a
    // scatter a rank may be a leaf.
    const Collective collective = algorithm.collective;
    if (collective == Collective::broadcast || collective == Collective::scatter) continue;
    const bool sends_its_chunk =
        collective == Collective::all_gather || collective == Collective::gather;
    const std::uint64_t own_chunk = (25 << 20) / 16384;
    const std::uint64_t due = sends_its_chunk ? own_chunk : (25 << 20) - own_chunk;
    EXPECT_GE(sent, due) << algorithm.name;
  }
}

}  // namespace
}  // namespace paceline::collectives
