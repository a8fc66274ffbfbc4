#include "tests/models/collectives/plan_check.h"

#include <algorithm>
#include <deque>
#include <set>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace paceline::collectives {
namespace {

// Thrown inside this file only; find_fault turns it into its result.
struct Fault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Place {
  std::size_t channel;
  std::uint64_t round;
};

[[noreturn]] void fail(Place place, Rank rank, const std::string& what) {
  throw Fault("channel " + std::to_string(place.channel) + ", round " +
              std::to_string(place.round) + ", rank " + std::to_string(index(rank)) + ": " + what);
}

// Whose contributions a value contains. The first 64 ranks need no memory of their own: there are
// as many of these as endpoints times pieces.
class Contributions {
 public:
  explicit Contributions(std::uint32_t endpoints) : further_((endpoints - 1) / 64) {}

  static Contributions of_all(std::uint32_t ranks, std::uint32_t endpoints) {
    Contributions all(endpoints);
    for (std::uint32_t r = 0; r < ranks; ++r) all.add(r);
    return all;
  }
  void add(std::uint32_t rank) {
    std::uint64_t& word = rank < 64 ? first_ : further_[rank / 64 - 1];
    word |= std::uint64_t{1} << (rank % 64);
  }
  [[nodiscard]] bool empty() const {
    return first_ == 0 &&
           std::all_of(further_.begin(), further_.end(), [](auto word) { return word == 0; });
  }
  [[nodiscard]] bool intersects(const Contributions& other) const {
    for (std::size_t i = 0; i < further_.size(); ++i) {
      if ((further_[i] & other.further_[i]) != 0) return true;
    }
    return (first_ & other.first_) != 0;
  }
  void unite(const Contributions& other) {
    first_ |= other.first_;
    for (std::size_t i = 0; i < further_.size(); ++i) further_[i] |= other.further_[i];
  }
  friend bool operator==(const Contributions&, const Contributions&) = default;

 private:
  std::uint64_t first_ = 0;
  std::vector<std::uint64_t> further_;
};

// What one element of a buffer is: the sum of some ranks' contributions to one element, which an
// all-to-all moves elsewhere.
struct Value {
  Contributions of;
  std::uint64_t element;

  friend bool operator==(const Value&, const Value&) = default;
};

// A transfer that lands elsewhere than it was: elements [begin, end) at [begin, end) + shift.
using Shifted = std::tuple<std::uint64_t, std::uint64_t, std::int64_t>;

std::uint64_t moved(std::uint64_t element, std::int64_t shift) {
  return element + static_cast<std::uint64_t>(shift);
}

// Adds bounds until elements that are separated on one side of a shifted transfer are so on the
// other.
void carry_over(std::set<std::uint64_t>& bounds, const std::set<Shifted>& transfers) {
  for (std::size_t before = 0; before != bounds.size();) {
    before = bounds.size();
    for (const auto& [begin, end, shift] : transfers) {
      const std::vector<std::uint64_t> sent(bounds.lower_bound(begin), bounds.upper_bound(end));
      for (const std::uint64_t bound : sent) bounds.insert(moved(bound, shift));
      const std::vector<std::uint64_t> landed(bounds.lower_bound(moved(begin, shift)),
                                              bounds.upper_bound(moved(end, shift)));
      for (const std::uint64_t bound : landed) bounds.insert(moved(bound, -shift));
    }
  }
}

// A piece is a run of elements that every transfer moves together or not at all.
struct Pieces {
  std::vector<std::uint64_t> bounds;  // piece i is [bounds[i], bounds[i+1])

  [[nodiscard]] std::size_t count() const { return bounds.size() - 1; }
  [[nodiscard]] std::size_t at(std::uint64_t element) const {
    return static_cast<std::size_t>(std::lower_bound(bounds.begin(), bounds.end(), element) -
                                    bounds.begin());
  }
  [[nodiscard]] std::pair<std::size_t, std::size_t> of(ElementRange range) const {
    return {at(range.begin.value()), at((range.begin + range.count).value())};
  }
};

struct Arriving {
  Place sent;
  Rank to;
  Arrival arrival;
  std::pair<std::size_t, std::size_t> pieces;  // where they land
  std::vector<Value> values;
};

class Interpreter {
 public:
  explicit Interpreter(const Plan& plan)
      : plan_(plan),
        ranks_(plan.ranks.value()),
        endpoints_(plan.endpoints().value()),
        chunk_bounds_(owner_chunks()),
        pieces_(cut()) {
    if (!may_be_root(plan.root)) throw Fault("the root is no rank");
    held_.resize(endpoints_);
    for (std::uint32_t r = 0; r < endpoints_; ++r) {
      for (std::size_t piece = 0; piece < pieces_.count(); ++piece) {
        Value& value =
            held_[r].emplace_back(Value{Contributions(endpoints_), pieces_.bounds[piece]});
        if (starts_with(r, piece)) value.of.add(r);
      }
    }
    mover_.assign(pieces_.count(), plan.channels.size());
  }

  void run() {
    for (std::size_t c = 0; c < plan_.channels.size(); ++c) run_channel(c);
    for (std::uint32_t r = 0; r < endpoints_; ++r) {
      for (std::size_t piece = 0; piece < pieces_.count(); ++piece) check_end(r, piece);
    }
  }

 private:
  // Of collectives whose ranks own chunks: who owns which elements.
  [[nodiscard]] std::vector<std::uint64_t> owner_chunks() const {
    std::vector<std::uint64_t> bounds;
    const auto chunks = Partition::even({ElementCount(0), plan_.count}, ranks_);
    for (std::uint32_t r = 0; r < ranks_; ++r) bounds.push_back(chunks.chunk(r).begin.value());
    return bounds;
  }

  [[nodiscard]] std::uint32_t owner(std::size_t piece) const {
    const auto after =
        std::upper_bound(chunk_bounds_.begin(), chunk_bounds_.end(), pieces_.bounds[piece]);
    return static_cast<std::uint32_t>(after - chunk_bounds_.begin()) - 1;
  }

  [[nodiscard]] Pieces cut() const {
    const ElementCount size = buffer_size(plan_);
    std::set<std::uint64_t> bounds{0, size.value()};
    std::set<Shifted> shifted;
    bounds.insert(chunk_bounds_.begin(), chunk_bounds_.end());
    for (std::size_t c = 0; c < plan_.channels.size(); ++c) {
      std::uint64_t first_round = 0;
      for (const Round& round : plan_.channels[c].rounds) {
        for (std::uint32_t r = 0; r < endpoints_; ++r) {
          for (const Send& send : round.sends(Rank(r))) {
            for (std::uint64_t i = 0; i < round.repeats; ++i) {
              const ElementRange range = send.chunk.at(i);
              const std::uint64_t begin = range.begin.value(), end = begin + range.count.value();
              if (!within(size, begin, range.count) ||
                  !within(size, moved(begin, send.shift), range.count)) {
                fail({c, first_round + i}, Rank(r), "sends elements outside the buffer");
              }
              bounds.insert({begin, end});
              if (send.shift != 0) shifted.emplace(begin, end, send.shift);
            }
          }
        }
        first_round += round.repeats;
      }
    }
    if (plan_.collective == Collective::all_to_all) add_blocks(bounds);
    carry_over(bounds, shifted);
    return {{bounds.begin(), bounds.end()}};
  }

  static bool within(ElementCount size, std::uint64_t begin, ElementCount count) {
    return begin <= size.value() && count.value() <= size.value() - begin;
  }

  void add_blocks(std::set<std::uint64_t>& bounds) const {
    bounds.insert(plan_.count.value());
    const AllToAllBlocks blocks{plan_.ranks, plan_.count};
    for (std::uint32_t r = 0; r < ranks_; ++r) {
      for (const ElementRange block : {blocks.sent(Rank(r)), blocks.received(Rank(r))}) {
        bounds.insert({block.begin.value(), (block.begin + block.count).value()});
      }
    }
  }

  [[nodiscard]] bool may_be_root(Rank root) const {
    const bool may_be_server =
        plan_.collective == Collective::broadcast || plan_.collective == Collective::reduce;
    return index(root) < (may_be_server ? endpoints_ : ranks_);
  }

  // A server does with the sum that it broadcasts, and with no contribution of its own.
  [[nodiscard]] bool starts_with(std::uint32_t rank, std::size_t piece) const {
    if (rank >= ranks_) {
      return plan_.collective == Collective::broadcast && index(plan_.root) == rank;
    }
    switch (plan_.collective) {
      case Collective::all_gather:
      case Collective::gather: return owner(piece) == rank;
      case Collective::broadcast:
      case Collective::scatter: return index(plan_.root) == rank;
      case Collective::all_to_all: return pieces_.bounds[piece] < plan_.count.value();
      default: return true;
    }
  }

  // What a rank must hold at the end; nullopt where that does not matter.
  [[nodiscard]] std::optional<Value> due(std::uint32_t rank, std::size_t piece) const {
    if (rank >= ranks_ && rank != index(plan_.root)) return std::nullopt;
    const Value sum{Contributions::of_all(ranks_, endpoints_), pieces_.bounds[piece]};
    Value one{Contributions(endpoints_), pieces_.bounds[piece]};
    switch (plan_.collective) {
      case Collective::all_reduce: return sum;
      case Collective::reduce_scatter:
        return owner(piece) == rank ? std::optional(sum) : std::nullopt;
      case Collective::reduce: return index(plan_.root) == rank ? std::optional(sum) : std::nullopt;
      case Collective::all_gather: one.of.add(owner(piece)); return one;
      case Collective::broadcast: one.of.add(index(plan_.root)); return one;
      case Collective::all_to_all: return due_from_another(rank, piece);
      case Collective::scatter:
        if (owner(piece) != rank) return std::nullopt;
        one.of.add(index(plan_.root));
        return one;
      case Collective::gather:
        if (index(plan_.root) != rank) return std::nullopt;
        one.of.add(owner(piece));
        return one;
    }
    throw Fault("a collective outside the enumeration");
  }

  [[nodiscard]] std::optional<Value> due_from_another(std::uint32_t rank, std::size_t piece) const {
    const AllToAllBlocks blocks{plan_.ranks, plan_.count};
    const std::uint64_t block = blocks.sent(Rank(0)).count.value();
    const std::uint64_t element = pieces_.bounds[piece];
    if (block == 0 || element < plan_.count.value()) return std::nullopt;
    const std::uint64_t from = (element - plan_.count.value()) / block;
    if (from >= ranks_ || from == rank) return std::nullopt;
    Value value{Contributions(endpoints_), rank * block + (element - plan_.count.value()) % block};
    value.of.add(static_cast<std::uint32_t>(from));
    return value;
  }

  void check_end(std::uint32_t rank, std::size_t piece) const {
    const auto value = due(rank, piece);
    if (!value || held_[rank][piece] == *value) return;
    throw Fault("at the end rank " + std::to_string(rank) +
                " does not hold the due result of element " +
                std::to_string(pieces_.bounds[piece]));
  }

  void run_channel(std::size_t c) {
    const Channel& channel = plan_.channels[c];
    if (channel.window == 0) throw Fault("channel " + std::to_string(c) + " has window 0");
    std::deque<std::vector<Arriving>> under_way;  // oldest round first
    std::uint64_t round_number = 0;
    for (const Round& round : channel.rounds) {
      check_sources({c, round_number}, round);
      const auto sends = by_arrival(round);
      for (std::uint64_t i = 0; i < round.repeats; ++i, ++round_number) {
        if (under_way.size() == channel.window) {
          deliver(under_way.front());
          under_way.pop_front();
        }
        under_way.push_back(post({c, round_number}, sends, i, under_way));
      }
    }
    for (const auto& arrivals : under_way) deliver(arrivals);
  }

  void check_sources(Place place, const Round& round) const {
    std::set<std::pair<std::uint32_t, std::uint32_t>> sent;
    std::set<std::pair<std::uint32_t, std::uint32_t>> expected;
    for (std::uint32_t r = 0; r < endpoints_; ++r) {
      for (const Send& send : round.sends(Rank(r))) {
        if (index(send.to) >= endpoints_)
          fail(place, Rank(r), "sends to a rank that does not exist");
        if (index(send.to) == r) fail(place, Rank(r), "sends to itself");
        if (!joins(plan_, Rank(r), send.to)) {
          fail(place, Rank(r), "sends past a switch that is not its node's");
        }
        sent.emplace(r, index(send.to));
      }
      for (const Rank source : round.sources(Rank(r))) {
        if (!expected.emplace(index(source), r).second) {
          fail(place, Rank(r), "names a source twice");
        }
      }
    }
    for (const auto& [from, to] : sent) {
      if (!expected.contains({from, to})) {
        fail(place, Rank(to), "does not expect what rank " + std::to_string(from) + " sends");
      }
    }
    for (const auto& [from, to] : expected) {
      if (!sent.contains({from, to})) {
        fail(place, Rank(to), "waits for rank " + std::to_string(from) + ", which sends nothing");
      }
    }
  }

  // All sends of a round and their senders, in the order in which receivers list their sources.
  [[nodiscard]] std::vector<std::pair<Rank, Send>> by_arrival(const Round& round) const {
    std::vector<Sends> sends;
    for (std::uint32_t from = 0; from < endpoints_; ++from) {
      sends.push_back(round.sends(Rank(from)));
    }
    std::vector<std::pair<Rank, Send>> result;
    for (std::uint32_t to = 0; to < endpoints_; ++to) {
      for (const Rank from : round.sources(Rank(to))) {
        for (const Send& send : sends[index(from)]) {
          if (index(send.to) == to) result.emplace_back(from, send);
        }
      }
    }
    return result;
  }

  std::vector<Arriving> post(Place place, const std::vector<std::pair<Rank, Send>>& sends,
                             std::uint64_t repeat,
                             const std::deque<std::vector<Arriving>>& under_way) {
    std::vector<Arriving> arrivals;
    for (const auto& [from, send] : sends) {
      const ElementRange range = send.chunk.at(repeat);
      if (range.count == ElementCount(0)) continue;
      arrivals.push_back(take(place, from, send, range, under_way));
    }
    for (const auto& [from, send] : sends) {
      if (index(from) < ranks_ + plan_.servers) continue;
      const auto [first, end] = pieces_.of(send.chunk.at(repeat));
      for (std::size_t piece = first; piece < end; ++piece) {
        held_[index(from)][piece].of = Contributions(endpoints_);
      }
    }
    return arrivals;
  }

  Arriving take(Place place, Rank from, const Send& send, ElementRange range,
                const std::deque<std::vector<Arriving>>& under_way) {
    const auto pieces = pieces_.of(range);
    for (const auto& arrivals : under_way) {
      for (const Arriving& arriving : arrivals) {
        if (arriving.to == from && arriving.pieces.first < pieces.second &&
            pieces.first < arriving.pieces.second) {
          fail(place, from, "sends elements that are still arriving");
        }
      }
    }
    range.begin = ElementCount(moved(range.begin.value(), send.shift));
    Arriving result{place, send.to, send.arrival, pieces_.of(range), {}};
    claim(place, from, pieces);
    claim(place, from, result.pieces);
    for (std::size_t piece = pieces.first; piece < pieces.second; ++piece) {
      const Value& value = held_[index(from)][piece];
      if (value.of.empty()) fail(place, from, "sends elements that it does not hold");
      result.values.push_back(value);
    }
    return result;
  }

  void claim(Place place, Rank from, std::pair<std::size_t, std::size_t> pieces) {
    for (std::size_t piece = pieces.first; piece < pieces.second; ++piece) {
      if (mover_[piece] != plan_.channels.size() && mover_[piece] != place.channel) {
        fail(place, from, "sends elements that another channel moves too");
      }
      mover_[piece] = place.channel;
    }
  }

  void deliver(const std::vector<Arriving>& arrivals) {
    for (const Arriving& arriving : arrivals) {
      for (std::size_t piece = arriving.pieces.first; piece < arriving.pieces.second; ++piece) {
        Value& value = held_[index(arriving.to)][piece];
        const Value& incoming = arriving.values[piece - arriving.pieces.first];
        const bool first_at_server = index(arriving.to) >= ranks_ && value.of.empty();
        if (arriving.arrival == Arrival::copy || first_at_server) {
          value = incoming;
        } else if (value.of.empty()) {
          fail(arriving.sent, arriving.to, "adds to elements that it does not hold");
        } else if (value.element != incoming.element) {
          fail(arriving.sent, arriving.to, "adds another element");
        } else if (value.of.intersects(incoming.of)) {
          fail(arriving.sent, arriving.to, "adds a contribution twice");
        } else {
          value.of.unite(incoming.of);
        }
      }
    }
  }

  const Plan& plan_;
  std::uint32_t ranks_;
  std::uint32_t endpoints_;
  std::vector<std::uint64_t> chunk_bounds_;
  Pieces pieces_;
  std::vector<std::vector<Value>> held_;  // [endpoint][piece]
  std::vector<std::size_t> mover_;        // piece -> channel; channels.size(): none yet
};

}  // namespace

std::optional<std::string> find_fault(const Plan& plan) {
  try {
    Interpreter(plan).run();
    return std::nullopt;
  } catch (const Fault& fault) {
    return fault.what();
  }
}

namespace {

template <class Visit>
void for_each_transfer(const Plan& plan, Visit visit) {
  for (const Channel& channel : plan.channels) {
    for (const Round& round : channel.rounds) {
      for (std::uint32_t rank = 0; rank < plan.endpoints().value(); ++rank) {
        for (const Send& send : round.sends(Rank(rank))) {
          for (std::uint64_t i = 0; i < round.repeats; ++i) {
            const ElementRange range = send.chunk.at(i);
            if (range.count > ElementCount(0)) visit(rank, range);
          }
        }
      }
    }
  }
}

}  // namespace

bool joins(const Plan& plan, Rank from, Rank to) {
  const std::uint32_t first_switch = plan.ranks.value() + plan.servers;
  if (index(from) > index(to)) std::swap(from, to);
  if (index(to) < first_switch) return true;
  if (index(from) >= plan.ranks.value()) return false;
  const bool is_network = index(to) == first_switch + plan.switches;
  return is_network ||
         index(from) / (plan.ranks.value() / plan.switches) == index(to) - first_switch;
}

std::vector<ElementCount> elements_sent(const Plan& plan) {
  std::vector<ElementCount> sent(plan.endpoints().value());
  for_each_transfer(plan,
                    [&](std::uint32_t rank, ElementRange range) { sent[rank] += range.count; });
  return sent;
}

std::uint64_t transfer_count(const Plan& plan) {
  std::uint64_t transfers = 0;
  for_each_transfer(plan, [&](std::uint32_t, ElementRange) { ++transfers; });
  return transfers;
}

}  // namespace paceline::collectives
