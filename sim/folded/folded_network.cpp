#include "sim/folded/folded_network.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "models/contract.h"

namespace paceline::sim {
namespace {

// What happens within a tenth of a picosecond happens at once: times that are the same but for
// rounding must not count as different sets of flows. SimGrid's own grain is a picosecond.
constexpr double simultaneous_s = 1e-13;

class Groups {
 public:
  explicit Groups(std::size_t size) : parent_(size) {
    std::iota(parent_.begin(), parent_.end(), 0U);
  }
  std::uint32_t find(std::uint32_t member) {
    while (parent_[member] != member) member = parent_[member] = parent_[parent_[member]];
    return member;
  }
  void join(std::uint32_t a, std::uint32_t b) { parent_[find(a)] = find(b); }

 private:
  std::vector<std::uint32_t> parent_;
};

}  // namespace

FoldedNetwork::FoldedNetwork(std::span<const LinkClass> links, std::vector<FoldedPath> paths,
                             std::function<void(void*)> on_arrival, Rates& rates,
                             std::uint64_t effort_max)
    : paths_(std::move(paths)),
      on_arrival_(std::move(on_arrival)),
      effort_max_(effort_max),
      rates_(rates) {
  find_islands(links);
}

void FoldedNetwork::find_islands(std::span<const LinkClass> links) {
  Groups groups(links.size());
  for (const FoldedPath& path : paths_) {
    PACELINE_EXPECTS(!path.link_classes.empty() && path.flows > 0);
    for (const std::uint32_t link : path.link_classes) groups.join(link, path.link_classes[0]);
  }
  std::map<std::uint32_t, std::vector<PathId>> members;
  for (PathId path = 0; path < paths_.size(); ++path) {
    members[groups.find(paths_[path].link_classes[0])].push_back(path);
  }
  places_.resize(paths_.size());
  for (const auto& [group, path_ids] : members) add_island(path_ids, links);
}

// The links of a class together, in proportion to the flows of a path together: what keeps every
// flow's share when classes differ in size.
void FoldedNetwork::add_island(const std::vector<PathId>& path_ids,
                               std::span<const LinkClass> links) {
  std::uint64_t unit = 0;  // flows that count as one
  for (const PathId path : path_ids) unit = std::gcd(unit, paths_[path].flows);
  Island shape;
  std::map<std::uint32_t, std::uint32_t> link_numbers;       // in the island, as they come
  std::map<std::vector<std::uint32_t>, std::uint32_t> ways;  // likewise, by link classes
  for (const PathId id : path_ids) {
    const FoldedPath& path = paths_[id];
    const auto [way, is_new] =
        ways.try_emplace(path.link_classes, static_cast<std::uint32_t>(shape.ways.size()));
    places_[id] = {static_cast<std::uint32_t>(islands_.size()), way->second, path.flows / unit};
    if (!is_new) continue;
    Island::Way& added = shape.ways.emplace_back();
    for (const std::uint32_t link : path.link_classes) {
      const auto [number, is_new_link] =
          link_numbers.try_emplace(link, static_cast<std::uint32_t>(shape.links.size()));
      if (is_new_link) {
        shape.links.push_back(links[link].bandwidth *
                              (static_cast<double>(links[link].links) / static_cast<double>(unit)));
      }
      added.push_back(number->second);
    }
  }
  IslandState& island = islands_.emplace_back();
  island.load.resize(shape.ways.size());
  island.rates.resize(shape.ways.size());
  island.shape = rates_.add(shape);
}

void FoldedNetwork::push(double time, Event::Kind kind, std::uint64_t subject, Flow* flow,
                         std::uint32_t version) {
  events_.push_back({time, events_made_++, kind, version, subject, flow});
  std::push_heap(events_.begin(), events_.end(), std::greater<>());
}

void FoldedNetwork::at(Seconds time, std::function<void()> action) {
  if (free_timers_.empty()) {
    free_timers_.push_back(timers_.size());
    timers_.emplace_back();
  }
  const std::uint64_t timer = free_timers_.back();
  free_timers_.pop_back();
  timers_[timer] = std::move(action);
  push(time.value(), Event::Kind::timer, timer, nullptr, 0);
}

FoldedNetwork::Flow* FoldedNetwork::new_flow() {
  if (free_.empty()) free_.push_back(&pool_.emplace_back());
  Flow* flow = free_.back();
  free_.pop_back();
  return flow;
}

void FoldedNetwork::send(PathId path, double bytes, Seconds extra, void* tag,
                         Connection* connection) {
  Flow* flow = new_flow();
  const topology::MessageTiming& timing = paths_[path].timing;
  const double latency = (timing.latency_of(bytes) - timing.latency_after() + extra).value();
  *flow = {tag, connection, path, FlowState::Phase::latency, true, bytes, now_ + latency};
  if (connection != nullptr) connection->flows.push_back(flow);
  if (latency > 0) {
    push(flow->phase_end, Event::Kind::latency, 0, flow, 0);
  } else {
    pass_latency(flow);
  }
}

void FoldedNetwork::hand_back_after(Seconds delay, void* tag) {
  Flow* flow = new_flow();
  *flow = {tag, nullptr, 0, FlowState::Phase::handed_back, true, 0, now_ + delay.value()};
  push(flow->phase_end, Event::Kind::hand_back, 0, flow, 0);
}

void FoldedNetwork::pass_latency(Flow* flow) {
  flow->phase = FlowState::Phase::waiting;
  if (flow->connection == nullptr || flow->connection->flows.front() == flow) move(flow);
}

void FoldedNetwork::move(Flow* flow) {
  flow->phase = FlowState::Phase::moving;
  const Place place = places_[flow->path];
  IslandState& island = islands_[place.island];
  count_bytes(island);
  island.flows.push_back(flow);
  island.load[place.way] += place.flows;
  if (island.changed.empty()) changed_.push_back(place.island);
  island.changed.push_back(place.way);
}

// Takes off what the flows have moved since the last time.
void FoldedNetwork::count_bytes(IslandState& island) {
  const double passed = now_ - island.updated;
  island.updated = now_;
  if (passed <= 0) return;
  for (Flow* flow : island.flows) flow->left -= island.rates[places_[flow->path].way] * passed;
}

void FoldedNetwork::complete(std::uint32_t number) {
  IslandState& island = islands_[number];
  count_bytes(island);
  const auto time_left = [&](const Flow* flow) {
    return flow->left / island.rates[places_[flow->path].way];
  };
  double soonest = std::numeric_limits<double>::infinity();
  for (const Flow* flow : island.flows) soonest = std::min(soonest, time_left(flow));
  std::vector<Flow*> arrivals = std::move(arrivals_);
  arrivals.clear();
  if (island.changed.empty()) changed_.push_back(number);
  std::size_t kept = 0;
  for (Flow* flow : island.flows) {
    if (time_left(flow) > soonest + simultaneous_s) {
      island.flows[kept++] = flow;
    } else {
      const Place& place = places_[flow->path];
      island.load[place.way] -= place.flows;
      island.changed.push_back(place.way);
      arrivals.push_back(flow);
    }
  }
  island.flows.resize(kept);
  for (Flow* flow : arrivals) arrived(flow);
  arrivals_ = std::move(arrivals);
}

void FoldedNetwork::arrived(Flow* flow) {
  if (Connection* connection = flow->connection) {
    connection->flows.pop_front();
    if (!connection->flows.empty()) {
      auto* next = static_cast<Flow*>(connection->flows.front());
      if (next->phase == FlowState::Phase::waiting) move(next);
    }
  }
  hand_back(flow);
}

void FoldedNetwork::hand_back(Flow* flow) {
  void* tag = flow->tag;
  flow->in_use = false;
  free_.push_back(flow);
  on_arrival_(tag);
}

// Finds the rates of what is in flight now, and says when the next flow ends.
void FoldedNetwork::settle() {
  for (const std::uint32_t number : changed_) {
    IslandState& island = islands_[number];
    ++island.version;
    rates_.find(island.shape, island.load, island.changed, island.rates);
    island.changed.clear();
    if (island.flows.empty()) continue;
    if (rates_.effort() > effort_max_) {
      throw TooMuchSharing("flows share links in too many different ways");
    }
    double soonest = std::numeric_limits<double>::infinity();
    for (const Flow* flow : island.flows) {
      soonest = std::min(soonest, flow->left / island.rates[places_[flow->path].way]);
    }
    push(now_ + std::max(0.0, soonest), Event::Kind::completion, number, nullptr, island.version);
  }
  changed_.clear();
}

void FoldedNetwork::handle(const Event& event) {
  switch (event.kind) {
    case Event::Kind::timer: {
      const std::function<void()> action = std::move(timers_[event.subject]);
      free_timers_.push_back(event.subject);
      action();
      return;
    }
    case Event::Kind::latency: return pass_latency(event.flow);
    case Event::Kind::hand_back: return hand_back(event.flow);
    case Event::Kind::completion:
      if (islands_[event.subject].version == event.version) {
        complete(static_cast<std::uint32_t>(event.subject));
      }
      return;
  }
}

void FoldedNetwork::run(const std::function<void()>& on_round) {
  settle();
  while (!events_.empty()) {
    now_ = std::max(now_, events_.front().time);
    while (!events_.empty() && events_.front().time <= now_ + simultaneous_s) {
      const Event event = events_.front();
      std::pop_heap(events_.begin(), events_.end(), std::greater<>());
      events_.pop_back();
      handle(event);
    }
    settle();
    if (round_began_) {
      round_began_ = false;
      on_round();
    }
  }
}

void FoldedNetwork::append_flows(std::vector<FlowState>& flows) const {
  for (const Flow& flow : pool_) {
    if (!flow.in_use) continue;
    double left = 0;
    if (flow.phase == FlowState::Phase::latency || flow.phase == FlowState::Phase::handed_back) {
      left = flow.phase_end - now_;
    }
    if (flow.phase == FlowState::Phase::moving) {
      const Place place = places_[flow.path];
      const IslandState& island = islands_[place.island];
      left = flow.left / island.rates[place.way] - (now_ - island.updated);
    }
    flows.push_back({flow.tag, flow.phase, Seconds(left)});
  }
}

Seconds FoldedNetwork::next_timer() const {
  double next = std::numeric_limits<double>::infinity();
  for (const Event& event : events_) {
    if (event.kind == Event::Kind::timer) next = std::min(next, event.time);
  }
  return Seconds(next);
}

void FoldedNetwork::leap(Seconds time) {
  PACELINE_EXPECTS(now_ + time.value() <= next_timer().value());
  now_ += time.value();
  for (Event& event : events_) {
    if (event.kind != Event::Kind::timer) event.time += time.value();
  }
  std::make_heap(events_.begin(), events_.end(), std::greater<>());
  for (Flow& flow : pool_) flow.phase_end += time.value();
  for (IslandState& island : islands_) island.updated += time.value();
}

}  // namespace paceline::sim
