#include "sim/folded/folded_network.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "models/contract.h"

namespace paceline::sim {
namespace {

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
    : Network(std::move(on_arrival)),
      paths_(std::move(paths)),
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

// The links of a class together, in proportion to a path's flows, which keeps every flow's share.
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

void FoldedNetwork::move(Flow* flow) {
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
  const double passed = now().value() - island.updated;
  island.updated = now().value();
  if (passed <= 0) return;
  for (Flow* flow : island.flows) flow->left -= island.rates[places_[flow->path].way] * passed;
}

// Takes out the flows that end now.
void FoldedNetwork::complete(std::uint32_t number, std::uint64_t event) {
  IslandState& island = islands_[number];
  if (island.completion != event) return;
  count_bytes(island);
  const auto time_left = [&](const Flow* flow) {
    return flow->left / island.rates[places_[flow->path].way];
  };
  double soonest = never;
  for (const Flow* flow : island.flows) soonest = std::min(soonest, time_left(flow));
  if (island.changed.empty()) changed_.push_back(number);
  std::size_t kept = 0;
  for (Flow* flow : island.flows) {
    if (time_left(flow) > soonest + simultaneous_s) {
      island.flows[kept++] = flow;
    } else {
      const Place& place = places_[flow->path];
      island.load[place.way] -= place.flows;
      island.changed.push_back(place.way);
      ended(flow);
    }
  }
  island.flows.resize(kept);
}

// Finds the rates of what is in flight now, and says when the next flow ends.
void FoldedNetwork::settle() {
  for (const std::uint32_t number : changed_) {
    IslandState& island = islands_[number];
    island.completion = no_event;
    rates_.find(island.shape, island.load, island.changed, island.rates);
    island.changed.clear();
    if (island.flows.empty()) continue;
    if (rates_.effort() > effort_max_) {
      throw TooMuchSharing("flows share links in too many different ways");
    }
    double soonest = never;
    for (const Flow* flow : island.flows) {
      soonest = std::min(soonest, flow->left / island.rates[places_[flow->path].way]);
    }
    island.completion = complete_at(now().value() + std::max(0.0, soonest), number);
  }
  changed_.clear();
}

void FoldedNetwork::run(const std::function<void()>& on_round) {
  settle();
  for (double next = next_event(); next < never; next = next_event()) {
    set_clock(std::max(now().value(), next));
    happen();
    settle();
    if (round_began_) {
      round_began_ = false;
      on_round();
    }
  }
}

void FoldedNetwork::append_flows(std::vector<FlowState>& flows) const {
  for (const Flow& flow : pool()) {
    if (!flow.in_use) continue;
    double left = 0;
    if (flow.phase == Phase::latency || flow.phase == Phase::handed_back) {
      left = flow.phase_end - now().value();
    }
    if (flow.phase == Phase::moving) {
      const Place place = places_[flow.path];
      const IslandState& island = islands_[place.island];
      left = flow.left / island.rates[place.way] - (now().value() - island.updated);
    }
    flows.push_back({flow.tag, flow.phase, Seconds(left)});
  }
}

void FoldedNetwork::leap(Seconds time) {
  PACELINE_EXPECTS((now() + time).value() <= next_timer());
  set_forward(time.value());
  for (IslandState& island : islands_) island.updated += time.value();
}

}  // namespace paceline::sim
