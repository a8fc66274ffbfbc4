#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <vector>

#include "models/topology/cluster.h"
#include "models/training/step_program.h"
#include "models/units/units.h"
#include "sim/folded/longest_path.h"

namespace paceline::sim {

// The numbers of a cluster's links that a sweep changes.
struct LinkNumbers {
  static constexpr std::size_t count = 4;
  // s: one way, of the network and in a node; s/B: of one NIC and of one GPU's link in a node.
  std::array<double, count> values{};

  [[nodiscard]] static LinkNumbers of(const topology::Cluster& cluster);
  void give_to(topology::Cluster& cluster) const;
};

// What a call takes on a cluster.
struct CallTime {
  Seconds time;  // from when all ranks have joined it until the last is done
  // By how much less one takes that follows others at once: ranks that are done early begin it
  // before the last is.
  Seconds lead;
};

// What calls of a step are asked for: on clusters that differ in the numbers of their links only.
struct CallDomain {
  topology::Cluster cluster;
  LinkNumbers least, most;  // each number is between these
  Seconds beside;           // what the step computes for each byte of its calls
  // With `has_next` of two calls in a row; else of one, which leads by nothing.
  std::function<CallTime(const topology::Cluster&, const training::CollectiveCall&, bool has_next)>
      simulate;
};

// A call as forms have it, and what all of its ranks wait for before their first message, whatever
// the links: that comes on top. Precondition: the call is simulated.
struct PlainCall {
  training::CollectiveCall call;
  Seconds start;
};
[[nodiscard]] PlainCall plain_call(training::CollectiveCall call);

// What a call takes alone, as a function of the numbers of links, learnt from simulations.
class CallForm {
 public:
  // The domain must outlive it.
  CallForm(const CallDomain& domain, training::CollectiveCall call);

  // What the simulation throws passes through.
  [[nodiscard]] CallTime at(const LinkNumbers& numbers);

  // How often it simulated.
  [[nodiscard]] std::size_t simulated() const { return known_.size(); }

  // How far it may be off where it is convex, as a part of what the call takes and of the compute
  // beside it; elsewhere several times as far (LongestPath).
  static constexpr double part_of_call = 5e-3, part_of_compute = 5e-3;

 private:
  using Place = LongestPath::Place;

  [[nodiscard]] Place place_of(const LinkNumbers& numbers) const;
  void find_whether_it_leads();
  const CallTime& simulated_at(const Place& place);
  [[nodiscard]] Seconds within(const CallTime& found) const;  // it may be off so much

  const CallDomain& domain_;
  training::CollectiveCall call_;
  std::vector<std::size_t> differing_;  // numbers
  std::map<Place, CallTime> known_;
  bool leads_ = true;
  LongestPath time_;
  LongestPath lead_;  // no longest path, but little beside one
};

}  // namespace paceline::sim
