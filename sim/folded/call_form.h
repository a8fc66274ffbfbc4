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

// The figures of a cluster's links that a sweep changes.
struct LinkNumbers {
  static constexpr std::size_t count = 4;
  // s: one way, of the network and in a node; s/B: of one NIC and of one GPU's link in a node.
  std::array<double, count> values{};

  [[nodiscard]] static LinkNumbers of(const topology::Cluster& cluster);
  void give_to(topology::Cluster& cluster) const;
};

// How long a call takes on a cluster.
struct CallTime {
  Seconds time;  // from when all ranks have joined it until the last is done
  // How much sooner a call ends that follows another at once, which some ranks leave early.
  Seconds lead;
};

// The clusters for which calls are timed: they differ in their links' figures only.
struct CallDomain {
  topology::Cluster cluster;
  LinkNumbers least, most;
  Seconds beside;  // compute of the step per byte of its calls
  // Simulates two calls in a row with `has_next`; else one, whose lead is 0.
  std::function<CallTime(const topology::Cluster&, const training::CollectiveCall&, bool has_next)>
      simulate;
};

// A call without the time that all ranks wait before their first message, which does not depend on
// links and comes on top. Precondition: the call is simulated.
struct PlainCall {
  training::CollectiveCall call;
  Seconds start;
};
[[nodiscard]] PlainCall plain_call(training::CollectiveCall call);

// The time of a call by itself as a function of its links' figures, learnt from simulations.
class CallForm {
 public:
  // The domain must outlive it.
  CallForm(const CallDomain& domain, training::CollectiveCall call);

  // Throws what the simulation throws.
  [[nodiscard]] CallTime at(const LinkNumbers& numbers);

  // How often it simulated.
  [[nodiscard]] std::size_t simulated() const { return known_.size(); }

  // How far off it may be where it is convex: part of the call's time, or of the compute beside it;
  // elsewhere several times that (LongestPath).
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
