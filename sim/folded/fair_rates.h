#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "models/units/units.h"

namespace paceline::sim {

// Links that flows share, directly or through one another.
struct Island {
  // The links that some flows cross together: indices into `links`, each once. Flows of one way all
  // have one rate.
  using Way = std::vector<std::uint32_t>;

  std::vector<BytesPerSecond> links;
  std::vector<Way> ways;

  friend auto operator<=>(const Island&, const Island&) = default;
};

// Max-min fair rates on one island: no flow can have more unless one that has no more than it gets
// less. Found by filling (Bertsekas and Gallager, Data Networks, 6.5.2): the link that gives its
// flows least is full first, what they take of other links is theirs, and so on without them.
class FairRates {
 public:
  explicit FairRates(const Island& island);

  // The rate of each flow in bytes/s, by way, when there are `flows[i]` of way i; 0 where that is
  // 0. `rates` are those from before the flows of `changed` ways were others: only they and flows
  // that they share links with, directly or through one another, are looked at. Returns the effort,
  // in links and ways looked at.
  std::uint64_t find(std::span<const std::uint64_t> flows, std::span<const std::uint32_t> changed,
                     std::vector<double>& rates);
  // The ways with flows that find() last looked at.
  [[nodiscard]] const std::vector<std::uint32_t>& looked_at() const { return ways_; }

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
  std::vector<std::uint32_t> ways_, links_to_fill_, tightest_;  // of one find()
};

using IslandId = std::uint32_t;

// The rates of several islands, of which many are equal.
class Rates {
 public:
  // Islands that are equal get one number.
  [[nodiscard]] IslandId add(const Island& island);

  // As FairRates::find().
  void find(IslandId island, std::span<const std::uint64_t> flows,
            std::span<const std::uint32_t> changed, std::vector<double>& rates);

  // Of all that was found, in links and ways looked at: one takes some nanoseconds.
  [[nodiscard]] std::uint64_t effort() const { return effort_; }

 private:
  std::map<Island, IslandId> numbers_;
  std::vector<FairRates> islands_;
  std::uint64_t effort_ = 0;
};

}  // namespace paceline::sim
