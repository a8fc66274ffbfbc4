#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "models/units/units.h"

namespace paceline::sim {

// Links whose flows share bandwidth, directly or through one another.
struct Island {
  // The links that a flow crosses: indices into `links`, each once. A way's flows have one rate.
  using Way = std::vector<std::uint32_t>;

  std::vector<BytesPerSecond> links;
  std::vector<Way> ways;

  friend auto operator<=>(const Island&, const Island&) = default;
};

// Finds max-min fair rates on one island: no flow can get more unless one with the same rate or a
// lower one gets less. Method: progressive filling (Bertsekas and Gallager, Data Networks, 6.5.2).
// The link with the smallest share per flow fills first; its flows keep that share, their bandwidth
// is taken off their other links, and the rest is filled without them.
class FairRates {
 public:
  explicit FairRates(const Island& island);

  // Writes the rate per flow, in bytes/s, of each way i with `flows[i]` flows; 0 where there are
  // none. `rates` holds the rates from before the numbers of flows on `changed` ways changed: only
  // these ways, and those they share links with, directly or through one another, are visited.
  // Returns the number of links and ways visited.
  std::uint64_t find(std::span<const std::uint64_t> flows, std::span<const std::uint32_t> changed,
                     std::vector<double>& rates);

 private:
  struct Link {
    double bandwidth;                 // bytes/s
    std::vector<std::uint32_t> ways;  // that cross it
    double left = 0;                  // bytes/s
    std::uint64_t flows = 0;          // that have no rate as yet
    std::uint64_t seen = 0;           // the find() that looked at it
  };
  struct Way {
    Island::Way links;
    std::uint64_t seen = 0;
  };

  void drop_links_that_never_fill();
  [[nodiscard]] bool fills_no_later(const Link& one, const Link& other) const;
  void add_links(std::uint32_t way);
  void fill_tightest(std::span<const std::uint64_t> flows, std::vector<double>& rates);
  void fill(std::uint32_t link, double rate, std::span<const std::uint64_t> flows,
            std::vector<double>& rates);

  std::vector<Link> links_;
  std::vector<Way> all_ways_;
  std::uint64_t finds_ = 0;
  std::vector<std::uint32_t> links_to_fill_, tightest_;  // of one find()
};

using IslandId = std::uint32_t;

// Finds the rates of many islands, equal ones by the same FairRates.
class Rates {
 public:
  // Returns the island's number; equal islands have the same one.
  [[nodiscard]] IslandId add(const Island& island);

  // As FairRates::find().
  void find(IslandId island, std::span<const std::uint64_t> flows,
            std::span<const std::uint32_t> changed, std::vector<double>& rates);

  // Links and ways visited so far, some nanoseconds each.
  [[nodiscard]] std::uint64_t effort() const { return effort_; }

 private:
  std::map<Island, IslandId> numbers_;
  std::vector<FairRates> islands_;
  std::uint64_t effort_ = 0;
};

}  // namespace paceline::sim
