#include "sim/folded/folded_calls.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <optional>
#include <utility>

#include "models/contract.h"
#include "models/stats/mixed.h"

namespace paceline::sim {
namespace {

using collectives::ChunkRule;
using collectives::Plan;
using collectives::Round;
using collectives::Send;
using training::CollectiveCall;

}  // namespace

// Sizes that the rules of a plan mean to be the same: chunks of equal parts of the buffer, which
// differ because counts do not divide. A part of a part may be off by two elements, and a range of
// many chunks by one for each.
class AlikeSizes {
 public:
  AlikeSizes(std::vector<double> means, const Plan& plan, std::vector<double> others = {})
      : relative_(plan.count == ElementCount(0)
                      ? 0
                      : 2.0 * plan.ranks.value() / static_cast<double>(plan.count.value())),
        others_(std::move(others)) {
    std::sort(means.begin(), means.end());
    means.erase(std::unique(means.begin(), means.end()), means.end());
    for (const double mean : means) {
      if (!groups_.empty() && mean - groups_.back().smallest <= spread(groups_.back())) {
        groups_.back().largest = mean;
      } else {
        groups_.push_back({mean, mean});
      }
    }
  }

  [[nodiscard]] std::size_t group_of(double mean) const {
    const auto after =
        std::upper_bound(groups_.begin(), groups_.end(), mean,
                         [](double value, const Group& group) { return value < group.smallest; });
    return static_cast<std::size_t>(after - groups_.begin()) - 1;
  }
  [[nodiscard]] double elements(double mean) const {
    const Group& group = groups_[group_of(mean)];
    return (group.smallest + group.largest) / 2;
  }
  // The largest that is meant to be the same, the others included.
  [[nodiscard]] double largest(double mean) const {
    const Group& group = groups_[group_of(mean)];
    double largest = group.largest;
    for (const double other : others_) {
      if (other - group.smallest <= spread(group)) largest = std::max(largest, other);
    }
    return largest;
  }

 private:
  struct Group {
    double smallest, largest;
  };
  // How far above the smallest a size of its group may be.
  [[nodiscard]] double spread(const Group& group) const { return 2 + relative_ * group.smallest; }

  double relative_;
  std::vector<double> others_;
  std::vector<Group> groups_;
};

namespace {

template <class Visit>
void for_each_round(const Plan& plan, Visit visit) {
  for (std::size_t c = 0; c < plan.channels.size(); ++c) {
    std::size_t shape = 0;
    collectives::for_each_round(plan.channels[c], [&](const Round& round, const Round* before) {
      visit(c, shape++, round, before);
    });
  }
}

// Of some endpoints of each channel.
std::vector<double> means_of(const Plan& plan,
                             const std::vector<std::vector<std::uint32_t>>& endpoints) {
  std::vector<double> means;
  for_each_round(plan, [&](std::size_t channel, std::size_t, const Round& round, const Round*) {
    for (const std::uint32_t endpoint : endpoints[channel]) {
      for (const Send& send : round.sends(Rank(endpoint))) {
        const double mean = send.chunk.partition.mean_elements();
        if (means.empty() || means.back() != mean) means.push_back(mean);
      }
    }
  });
  return means;
}

std::uint64_t combined(std::initializer_list<std::uint64_t> parts) {
  std::uint64_t all = 0;
  for (const std::uint64_t part : parts) all = stats::mixed(all + part);
  return all;
}

// Which chunk exists at which repeat, and its size to the element.
std::uint64_t exact_kind(const ChunkRule& rule) {
  const auto& partition = rule.partition;
  if (partition.is_uniform() && (rule.cyclic || rule.step == 0)) {
    return combined({partition.chunk(0).count.value(), 1});
  }
  std::int64_t first = rule.first;
  if (rule.cyclic) {
    const auto cycle = static_cast<std::int64_t>(partition.chunks());
    first = (first % cycle + cycle) % cycle;
  }
  std::uint64_t kind =
      combined({static_cast<std::uint64_t>(first), static_cast<std::uint64_t>(rule.step),
                rule.cyclic ? 1U : 0U, std::bit_cast<std::uint64_t>(rule.owners.get())});
  for (const std::uint64_t part : partition.sizes_key()) kind = combined({kind, part});
  return kind;
}

// Which chunk exists at which repeat, whatever its size.
std::uint64_t even_kind(const ChunkRule& rule) {
  if (rule.cyclic || rule.step == 0) return 0;
  return combined({static_cast<std::uint64_t>(rule.first), static_cast<std::uint64_t>(rule.step),
                   rule.partition.chunks()});
}

std::uint64_t kind_of(const ChunkRule& rule, Chunks chunks, const AlikeSizes& sizes) {
  if (chunks == Chunks::exact) return exact_kind(rule);
  return combined({even_kind(rule), sizes.group_of(rule.partition.mean_elements())});
}

// What else sets two messages of a round apart, whatever their size.
std::uint64_t kind_of(const Send& send, Rank receiver, const topology::MessageTiming& timing,
                      bool were_peers, const topology::Fabric& fabric) {
  const auto bits = [](auto quantity) { return std::bit_cast<std::uint64_t>(quantity.value()); };
  const Seconds with_rendezvous = timing.latency_of(std::numeric_limits<double>::infinity());
  const auto reduction = reduction_of(send.arrival, receiver, fabric, {});
  return combined({bits(timing.latency), bits(with_rendezvous), timing.leaves_first ? 1U : 0U,
                   static_cast<std::uint64_t>(timing.receives), were_peers ? 1U : 0U,
                   reduction ? 1U : 0U});
}

// Whether the two ends of a send were peers in the round before; false where timing ignores it.
bool were_peers_if_it_matters(const topology::Path& path, const Round* before, Rank from,
                              const Send& send) {
  return path.timing.depends_on_peers() && collectives::were_peers(before, from, send.to);
}

// Channels that may be alike.
std::uint64_t colour_of(const collectives::Channel& channel, std::uint64_t structure) {
  std::uint64_t colour = combined({structure, channel.window});
  for (const Round& round : channel.rounds) colour = combined({colour, round.repeats});
  return colour;
}

// Adds the sends of a plan, as one job's ranks are placed.
void add_sends(const Plan& plan, const topology::Wire& wire, const topology::Fabric& fabric,
               Chunks chunks, std::uint32_t first_channel, const std::vector<Rank>& places,
               std::vector<SendRow>& rows) {
  const bool even = chunks == Chunks::even;
  const std::size_t first_row = rows.size();
  std::vector<double> means, different_means;  // of the rows; in the order of their coming
  for_each_round(
      plan, [&](std::size_t channel, std::size_t shape, const Round& round, const Round* before) {
        collectives::for_each_send(round, plan.endpoints(), [&](Rank from, const Send& send) {
          const Rank sender = places[index(from)], receiver = places[index(send.to)];
          const topology::Path path = fabric.path(sender, receiver, wire);
          const std::uint64_t chunk = even ? even_kind(send.chunk) : exact_kind(send.chunk);
          rows.push_back(
              {index(sender), index(receiver), first_channel + static_cast<std::uint32_t>(channel),
               path.out, path.in,
               combined({shape, chunk,
                         kind_of(send, receiver, path.timing,
                                 were_peers_if_it_matters(path, before, from, send), fabric)})});
          if (!even) return;
          means.push_back(send.chunk.partition.mean_elements());
          if (different_means.empty() || different_means.back() != means.back()) {
            different_means.push_back(means.back());
          }
        });
      });
  if (!even) return;
  const AlikeSizes sizes(std::move(different_means), plan);
  for (std::size_t i = 0; i < means.size(); ++i) {
    rows[first_row + i].kind = combined({rows[first_row + i].kind, sizes.group_of(means[i])});
  }
}

std::vector<Rank> places_of(const ResolvedPoint& point, const Job& job, RankCount endpoints) {
  std::vector<Rank> places;
  for (std::uint32_t e = 0; e < endpoints.value(); ++e) {
    places.push_back(place_of(point, job, Rank(e)));
  }
  return places;
}

// With several rounds in flight the transfers between two endpoints go in order. A class can keep
// that order when each member sends to one other only.
void expect_one_receiver(const collectives::Channel& channel, std::uint32_t endpoint) {
  if (channel.window == 1) return;
  std::optional<Rank> receiver;
  for (const Round& round : channel.rounds) {
    for (const Send& send : round.sends(Rank(endpoint))) {
      if (receiver && *receiver != send.to) {
        throw NotFolded("a rank keeps several rounds under way to more than one other");
      }
      receiver = send.to;
    }
  }
}

Structure structure_of(const CollectiveCall& call, const Plan& plan, Chunks chunks) {
  const training::SimulatedCall& simulated = *call.simulated();
  std::vector<std::uint64_t> rounds;
  for (const auto& channel : plan.channels) {
    rounds.push_back(channel.rounds.size());
    for (const Round& round : channel.rounds) rounds.push_back(round.repeats);
  }
  const bool exact = chunks == Chunks::exact;  // chunks may be cut by bytes
  topology::Wire wire = simulated.wire;
  wire.start = Seconds(0);  // the same for all ranks
  return {call.collective,
          call.group,
          simulated.algorithm,
          simulated.options,
          wire,
          call.root,
          std::move(rounds),
          exact ? call.count : ElementCount(0),
          exact ? call.element_size : ElementSize(0)};
}

}  // namespace

FoldedCalls::FoldedCalls(const ResolvedPoint& point, Chunks chunks,
                         const std::function<bool(const Call&)>& takes_part)
    : point_(point), chunks_(chunks), jobs_(jobs_of(point)), fabric_(point.cluster) {
  const topology::Cluster nodes = job_cluster(point);
  const training::Planner planner(nodes);
  Calls calls;
  for (const Call* call : calls_in(point.program)) {
    if (takes_part(*call)) calls.insert(*call);
  }
  symmetry_ = symmetry_of(calls, planner);
  is_of_the_core_.resize(symmetry_.links.size());
  for (std::size_t link = 0; link < fabric_.links().size(); ++link) {
    const topology::LinkKind kind = fabric_.links()[link].kind;
    if (kind == topology::LinkKind::leaf_uplink || kind == topology::LinkKind::leaf_downlink) {
      is_of_the_core_[symmetry_.link_class[link]] = true;
    }
  }
  number_actors(RankCount(nodes.ranks().value() + nodes.servers + switches_of_job(point)));
  for (std::size_t job = 0; job < jobs_.size(); ++job) {
    Tables& tables = tables_.emplace_back();
    for (const Call& call : calls) tables.emplace(call, folded(job, call, planner.plan_of(call)));
  }
}

Symmetry FoldedCalls::symmetry_of(const Calls& calls, const training::Planner& planner) {
  std::vector<SendRow> rows;
  std::vector<std::uint64_t> channel_colours;
  // The largest call of a structure comes first: its sizes are told apart best.
  for (auto call = calls.rbegin(); call != calls.rend(); ++call) {
    if (call->known() != nullptr) continue;
    const Plan plan = planner.plan_of(*call);
    const auto [entry, is_new] = first_channels_.try_emplace(
        structure_of(*call, plan, chunks_), static_cast<std::uint32_t>(channel_colours.size()));
    if (!is_new) continue;
    for (const Job& job : jobs_) {
      const auto first_channel = static_cast<std::uint32_t>(channel_colours.size());
      for (const collectives::Channel& channel : plan.channels) {
        channel_colours.push_back(colour_of(channel, first_channels_.size()));
      }
      add_sends(plan, call->simulated()->wire, fabric_, chunks_, first_channel,
                places_of(point_, job, plan.endpoints()), rows);
    }
  }
  return find_symmetry(fabric_, colours(), channel_colours, std::move(rows));
}

std::vector<std::uint64_t> FoldedCalls::colours() const {
  const std::uint32_t gpus = point_.cluster.gpus_per_node;
  const std::uint32_t ranks = point_.cluster.ranks().value();
  std::vector<std::uint64_t> colours(ranks, combined({0, 1}));
  for (std::size_t job = 0; job < jobs_.size(); ++job) {
    const auto job_ranks = static_cast<std::uint32_t>(jobs_[job].nodes.size()) * gpus;
    for (std::uint32_t r = 0; r < job_ranks; ++r) {
      const double slowdown = job == 0 ? slowdown_of(point_, Rank(r)) : 1.0;
      std::uint64_t colour = combined({job, std::bit_cast<std::uint64_t>(slowdown)});
      for (const training::Operation& operation : point_.program.operations) {
        if (operation.rank_parts.empty()) continue;
        colour = combined({colour, std::bit_cast<std::uint64_t>(operation.part_of(Rank(r)))});
      }
      colours[index(place_of(point_, jobs_[job], Rank(r)))] = colour;
    }
  }
  colours.resize(ranks + point_.cluster.servers, combined({0, 1, 2}));
  if (switches_of_job(point_) == 0) return colours;
  colours.resize(colours.size() + point_.cluster.nodes, combined({0, 1, 2, 3}));
  colours.push_back(combined({0, 1, 2, 3, 4}));  // the network's
  for (std::size_t job = 0; job < jobs_.size(); ++job) {
    for (const std::uint32_t node : jobs_[job].nodes) {
      colours[ranks + point_.cluster.servers + node] = combined({job, 1, 2, 3});
    }
  }
  return colours;
}

void FoldedCalls::number_actors(RankCount endpoints) {
  for (const Job& job : jobs_) {
    JobActors& actors = actors_.emplace_back();
    std::map<std::uint32_t, Actor> numbers;  // by class
    for (std::uint32_t e = 0; e < endpoints.value(); ++e) {
      const std::uint32_t of = symmetry_.endpoint_class[index(place_of(point_, job, Rank(e)))];
      const auto [entry, is_new] = numbers.try_emplace(of, static_cast<Actor>(numbers.size()));
      if (is_new) {
        actors.members.emplace_back();
        if (e < job_cluster(point_).ranks().value()) ++actors.rank_actors;
      }
      actors.members[entry->second].push_back(Rank(e));
      actors.actor_of.push_back(entry->second);
    }
  }
}

CallTable FoldedCalls::folded(std::size_t job, const Call& call, const Plan& plan) {
  const JobActors& actors = actors_[job];
  CallTable table;
  table.actors = static_cast<Actor>(actors.members.size());
  if (const auto* known = call.known()) {
    table.together = known->time;
    return table;
  }
  table.start = call.simulated()->wire.start;
  const std::uint32_t first_channel = first_channels_.at(structure_of(call, plan, chunks_)) +
                                      static_cast<std::uint32_t>(job * plan.channels.size());
  std::vector<FoldedChannel> channels(plan.channels.size());
  std::map<std::uint32_t, std::uint32_t> representatives;  // channels, by class
  for (std::uint32_t c = 0; c < plan.channels.size(); ++c) {
    const bool is_first =
        representatives.try_emplace(symmetry_.channel_class[first_channel + c], c).second;
    // The sizes of all others count where chunks are evened.
    if (!is_first && chunks_ == Chunks::exact) continue;
    channels[c] = folded_channel(job, first_channel + c, plan.endpoints());
  }
  const AlikeSizes sizes = sizes_of(plan, channels);
  for (std::uint32_t c = 0; c < plan.channels.size(); ++c) {
    if (representatives.at(symmetry_.channel_class[first_channel + c]) != c) continue;
    const FoldedChannel& folded = channels[c];
    std::vector<RoundShape> shapes;
    collectives::for_each_round(plan.channels[c], [&](const Round& round, const Round* before) {
      std::vector<PlannedTransfer> transfers;
      for (Part part = 0; part < folded.first_members.size(); ++part) {
        add_transfers(job, folded, part, round.sends(Rank(folded.first_members[part])), before,
                      call, sizes, transfers);
      }
      shapes.emplace_back(round.repeats, static_cast<Part>(folded.actor_of.size()),
                          std::move(transfers));
    });
    for (const std::uint32_t first : folded.first_members) {
      expect_one_receiver(plan.channels[c], first);
    }
    table.add_channel(folded.actor_of, std::move(shapes), plan.channels[c].window);
  }
  return table;
}

// The parts of a channel in the order of their actors, and of their first members.
FoldedCalls::FoldedChannel FoldedCalls::folded_channel(std::size_t job, std::uint32_t channel,
                                                       RankCount endpoints) const {
  struct Class {
    Actor actor;
    std::uint32_t first, last;
    std::uint32_t number;
  };
  const auto class_of = [&](std::uint32_t endpoint) {
    return symmetry_.part_class(channel, index(place_of(point_, jobs_[job], Rank(endpoint))));
  };
  std::map<std::uint32_t, Class> by_number;
  for (std::uint32_t e = 0; e < endpoints.value(); ++e) {
    if (const auto number = class_of(e)) {
      const Class first{actors_[job].actor_of[e], e, e, *number};
      by_number.try_emplace(*number, first).first->second.last = e;
    }
  }
  std::vector<Class> classes;
  for (const auto& [number, of_number] : by_number) classes.push_back(of_number);
  std::ranges::sort(classes, {}, [](const Class& one) { return std::tuple(one.actor, one.first); });
  FoldedChannel folded;
  std::map<std::uint32_t, Part> parts;  // by class number
  for (const Class& one : classes) {
    parts.emplace(one.number, static_cast<Part>(parts.size()));
    folded.actor_of.push_back(one.actor);
    folded.first_members.push_back(one.first);
    folded.last_members.push_back(one.last);
    folded.members.push_back(symmetry_.parts[one.number]);
  }
  folded.part_of.resize(endpoints.value());
  for (std::uint32_t e = 0; e < endpoints.value(); ++e) {
    if (const auto number = class_of(e)) folded.part_of[e] = parts.at(*number);
  }
  return folded;
}

// Ranges cut in two again and again are smallest at one end of a class and largest at the other.
AlikeSizes FoldedCalls::sizes_of(const Plan& plan,
                                 const std::vector<FoldedChannel>& channels) const {
  if (chunks_ == Chunks::exact) return {{}, plan};
  std::vector<std::vector<std::uint32_t>> first, last;
  for (const FoldedChannel& channel : channels) {
    first.push_back(channel.first_members);
    last.push_back(channel.last_members);
  }
  return {means_of(plan, first), plan, means_of(plan, last)};
}

// What a class sends: transfers of one size to one class over the same classes of links are one.
void FoldedCalls::add_transfers(std::size_t job, const FoldedChannel& channel, Part from,
                                const collectives::Sends& sends, const Round* before,
                                const Call& call, const AlikeSizes& sizes,
                                std::vector<PlannedTransfer>& transfers) {
  const topology::Wire& wire = call.simulated()->wire;
  const Rank sender(channel.first_members[from]);
  struct Bundle {
    Part to;
    std::vector<std::uint32_t> link_classes;
    topology::Path path;
    const Send* send;
    std::optional<BytesPerSecond> reduction;
    bool were_peers;
    std::uint64_t sends;
  };
  using Key = std::tuple<Part, std::vector<std::uint32_t>, std::uint64_t, std::uint64_t>;
  std::map<Key, std::size_t> numbers;
  std::vector<Bundle> bundles;  // as they come: hashes are in the keys, and one of an address
  for (const Send& send : sends) {
    const Rank receiver = place_of(point_, jobs_[job], send.to);
    const topology::Path path = fabric_.path(place_of(point_, jobs_[job], sender), receiver, wire);
    const Part to = channel.part_of[index(send.to)];
    const auto link_classes = link_classes_of(path);
    const bool were_peers = were_peers_if_it_matters(path, before, sender, send);
    const auto [entry, is_new] = numbers.try_emplace(
        {to, link_classes, kind_of(send, receiver, path.timing, were_peers, fabric_),
         kind_of(send.chunk, chunks_, sizes)},
        bundles.size());
    if (is_new) {
      bundles.push_back({to, link_classes, path, &send,
                         reduction_of(send.arrival, receiver, fabric_, wire), were_peers, 0});
    }
    ++bundles[entry->second].sends;
  }
  for (const auto& [to, link_classes, path_of_one, send, reduction, were_peers, sends_of_one] :
       bundles) {
    const std::uint64_t flows = channel.members[from] * sends_of_one;
    const ChunkRule& rule = send->chunk;
    const PathId path = path_of({path_of_one.timing, link_classes, flows});
    TransferSize size = TransferSize::exact(rule, call.element_size, wire);
    if (chunks_ == Chunks::even) {
      const double mean = rule.partition.mean_elements(), elements = sizes.elements(mean);
      const auto element = static_cast<double>(call.element_size.value());
      const auto in_rule = static_cast<double>(rule.partition.chunk(0).count.value());
      count_unevenness(path, elements, std::max(in_rule, sizes.largest(mean)),
                       element * wire.bytes);
      size = TransferSize::even(rule, wire.carried(elements * element));
    }
    transfers.push_back({from, to, path, flows, size, reduction, were_peers});
  }
}

// How much longer the largest chunk takes, when the path's links are shared by its own flows only.
void FoldedCalls::count_unevenness(PathId number, double elements, double largest, double element) {
  const FoldedPath& path = paths_[number];
  double rate = std::numeric_limits<double>::infinity();
  for (const std::uint32_t link : path.link_classes) {
    const auto [bandwidth, links] = symmetry_.links[link];
    const auto share = static_cast<double>(links) / static_cast<double>(path.flows);
    rate = std::min(rate, bandwidth.value() * share);
  }
  const auto bytes = [&](double count) { return count * element; };
  const auto time_of = [&](double count) {
    return path.timing.latency_of(bytes(count)).value() + bytes(count) / rate;
  };
  const double taken = time_of(elements);
  if (taken > 0) unevenness_ = std::max(unevenness_, (time_of(largest) - taken) / taken);
}

std::vector<std::uint32_t> FoldedCalls::link_classes_of(const topology::Path& path) const {
  std::vector<std::uint32_t> classes;
  const auto add = [&](const topology::Port& port) {
    for (const topology::LinkId link : fabric_.links_of(port)) {
      classes.push_back(symmetry_.link_class[link]);
    }
  };
  add(fabric_.out_ports()[path.out]);
  add(fabric_.in_ports()[path.in]);
  std::sort(classes.begin(), classes.end());
  if (std::adjacent_find(classes.begin(), classes.end()) != classes.end()) {
    throw NotFolded("a transfer crosses two links that are alike");
  }
  return classes;
}

PathId FoldedCalls::path_of(FoldedPath path) {
  for (const std::uint32_t link : path.link_classes) {
    // Every link of a class is crossed by as many: what the partition promises.
    PACELINE_EXPECTS(path.flows % symmetry_.links[link].links == 0);
  }
  const auto [entry, is_new] = path_ids_.try_emplace(path, static_cast<PathId>(paths_.size()));
  if (is_new) paths_.push_back(std::move(path));
  return entry->second;
}

SharedPace FoldedCalls::shared_pace() const {
  SharedPace most = SharedPace::nowhere;
  for (const Tables& tables : tables_) {
    for (const auto& [call, table] : tables) {
      std::size_t shapes = 0;
      for (const ChannelTable& channel : table.channels) {
        shapes = std::max(shapes, channel.shapes.size());
      }
      for (std::size_t shape = 0; shape < shapes; ++shape) {
        most = std::max(most, shared_pace(table, shape));
      }
    }
  }
  return most;
}

// All channels' transfers of a shape are taken to run together, as they do when all is alike.
SharedPace FoldedCalls::shared_pace(const CallTable& table, std::size_t shape) const {
  constexpr std::uint64_t repeats_to_drift = 16;
  std::vector<double> loads(symmetry_.links.size());  // flows on one link of each class
  const auto for_each_transfer = [&](auto visit) {
    for (const ChannelTable& channel : table.channels) {
      if (shape >= channel.shapes.size()) continue;
      const std::uint64_t repeats = channel.shapes[shape].repeats();
      if (repeats < repeats_to_drift) continue;
      for (const PlannedTransfer& transfer : channel.shapes[shape].transfers()) {
        visit(paths_[transfer.path], transfer.size.bytes_at(repeats / 2));
      }
    }
  };
  for_each_transfer([&](const FoldedPath& path, double) {
    for (const std::uint32_t link : path.link_classes) {
      loads[link] +=
          static_cast<double>(path.flows) / static_cast<double>(symmetry_.links[link].links);
    }
  });
  constexpr double rounding = 1 + 1e-6;
  std::array<double, 3> slowest{};  // by where they are held up
  for_each_transfer([&](const FoldedPath& path, double bytes) {
    double rate = std::numeric_limits<double>::infinity();
    SharedPace held_up = SharedPace::nowhere;
    for (const std::uint32_t link : path.link_classes) {
      const double share = symmetry_.links[link].bandwidth.value() / loads[link];
      if (share > rate * rounding) continue;
      const SharedPace here = loads[link] <= 1        ? SharedPace::nowhere
                              : is_of_the_core_[link] ? SharedPace::core
                                                      : SharedPace::ports;
      held_up = share * rounding < rate ? here : std::max(held_up, here);
      rate = std::min(rate, share);
    }
    double& most = slowest[static_cast<std::size_t>(held_up)];
    most = std::max(most, path.timing.latency_of(bytes).value() + bytes / rate);
  });
  const auto [alone, on_ports, in_core] = slowest;
  if (in_core > alone * rounding && in_core * rounding >= on_ports) return SharedPace::core;
  return on_ports > alone * rounding ? SharedPace::ports : SharedPace::nowhere;
}

}  // namespace paceline::sim
