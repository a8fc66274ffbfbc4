#include "sim/folded/fair_rates.h"

#include <algorithm>
#include <limits>

#include "models/contract.h"

namespace paceline::sim {

FairRates::FairRates(const Island& island) {
  for (const BytesPerSecond bandwidth : island.links) links_.push_back({bandwidth.value(), {}});
  for (std::uint32_t way = 0; way < island.ways.size(); ++way) {
    PACELINE_EXPECTS(!island.ways[way].empty());
    all_ways_.push_back({island.ways[way]});
    for (const std::uint32_t link : island.ways[way]) links_[link].ways.push_back(way);
  }
  drop_links_that_never_fill();
}

// A GPU's link to its host is never full before the narrower NIC that all of its flows go to.
void FairRates::drop_links_that_never_fill() {
  std::vector<bool> dropped(links_.size());
  for (std::uint32_t link = 0; link < links_.size(); ++link) {
    if (links_[link].ways.empty()) continue;
    dropped[link] =
        std::ranges::any_of(all_ways_[links_[link].ways.front()].links, [&](std::uint32_t other) {
          return other != link && !dropped[other] && fills_no_later(links_[other], links_[link]);
        });
  }
  for (Way& way : all_ways_) {
    std::erase_if(way.links, [&](std::uint32_t link) { return dropped[link]; });
  }
}

bool FairRates::fills_no_later(const Link& one, const Link& other) const {
  return one.bandwidth <= other.bandwidth && std::ranges::includes(one.ways, other.ways);
}

std::uint64_t FairRates::find(std::span<const std::uint64_t> flows,
                              std::span<const std::uint32_t> changed, std::vector<double>& rates) {
  ++finds_;
  links_to_fill_.clear();
  std::uint64_t effort = 0;
  for (const std::uint32_t way : changed) {
    rates[way] = 0;
    add_links(way);
  }
  for (std::size_t next = 0; next < links_to_fill_.size(); ++next) {
    const auto& ways = links_[links_to_fill_[next]].ways;
    effort += ways.size();
    for (const std::uint32_t way : ways) {
      if (flows[way] == 0 || all_ways_[way].seen == finds_) continue;
      all_ways_[way].seen = finds_;
      rates[way] = 0;
      add_links(way);
      for (const std::uint32_t link : all_ways_[way].links) links_[link].flows += flows[way];
    }
  }
  while (true) {
    std::erase_if(links_to_fill_, [&](std::uint32_t link) { return links_[link].flows == 0; });
    if (links_to_fill_.empty()) return effort;
    effort += links_to_fill_.size();
    fill_tightest(flows, rates);
  }
}

void FairRates::add_links(std::uint32_t way) {
  for (const std::uint32_t number : all_ways_[way].links) {
    Link& link = links_[number];
    if (link.seen == finds_) continue;
    link.seen = finds_;
    link.left = link.bandwidth;
    link.flows = 0;
    links_to_fill_.push_back(number);
  }
}

// Of the links that give each of their flows least there are many where ranks are alike.
void FairRates::fill_tightest(std::span<const std::uint64_t> flows, std::vector<double>& rates) {
  double least = std::numeric_limits<double>::infinity();
  tightest_.clear();
  for (const std::uint32_t number : links_to_fill_) {
    const Link& link = links_[number];
    const double rate = link.left / static_cast<double>(link.flows);
    if (rate < least) tightest_.clear();
    if (rate <= least) tightest_.push_back(number);
    least = std::min(least, rate);
  }
  for (const std::uint32_t number : tightest_) fill(number, least, flows, rates);
}

// Gives this rate to the flows that cross a link and have none as yet.
void FairRates::fill(std::uint32_t number, double rate, std::span<const std::uint64_t> flows,
                     std::vector<double>& rates) {
  PACELINE_EXPECTS(rate > 0);  // 0 stands for none as yet
  for (const std::uint32_t way : links_[number].ways) {
    if (flows[way] == 0 || rates[way] != 0) continue;
    rates[way] = rate;
    for (const std::uint32_t link : all_ways_[way].links) {
      links_[link].left -= rate * static_cast<double>(flows[way]);
      links_[link].flows -= flows[way];
    }
  }
}

IslandId Rates::add(const Island& island) {
  const auto [entry, is_new] = numbers_.try_emplace(island, static_cast<IslandId>(islands_.size()));
  if (is_new) islands_.emplace_back(island);
  return entry->second;
}

void Rates::find(IslandId number, std::span<const std::uint64_t> flows,
                 std::span<const std::uint32_t> changed, std::vector<double>& rates) {
  effort_ += islands_[number].find(flows, changed, rates);
}

}  // namespace paceline::sim
