#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "models/uncertain/quantities.h"
#include "models/units/units.h"

namespace paceline::uncertain {

// A function that is 0 at 0, on straight lines through places that were looked at.
class Curve {
 public:
  // Places in ascending order, none of them 0, with what the function is there.
  Curve() = default;
  explicit Curve(std::vector<std::pair<double, double>> places);

  [[nodiscard]] double operator()(double at) const;
  // With 0 among them; empty of a curve that is 0 everywhere.
  [[nodiscard]] const std::vector<std::pair<double, double>>& places() const { return places_; }

  // How it goes on from a place: that is the new one's 0.
  [[nodiscard]] Curve from(double place) const;
  // With its values taken through a function that is 0 at 0.
  [[nodiscard]] Curve through(const std::function<double(double)>& function) const;

  friend bool operator==(const Curve&, const Curve&) = default;

 private:
  std::vector<std::pair<double, double>> places_;  // with 0; empty: 0 everywhere
};

// Where a point stands among those of its machine and workload.
struct Place {
  double log2_ranks = 0, log2_gpus_per_node = 0, log2_nodes = 0;
  LinkClass node = LinkClass::nvlink, network = LinkClass::rdma;
  bool hides_behind_slow = false;  // what calls cross, PCIe or TCP: Priors::overlap_slow
  double box = 0;  // of a class of boxes, the logarithm of IntraNode::box_spread; else 0
  bool is_unmeasured_strategy = false;  // Priors::unmeasured_wrapper
  double compute = 0;                   // how sure its compute is: a scale, as of Priors
  double shorter = 1;                   // the part of that scale towards less compute
  bool compute_is_measured = true;      // with its batch: what one GPU takes is an input
  // Numbers of the workload, and of what gives the links: 0 for those that are asked about.
  // Different numbers have nothing to do with each other.
  std::uint32_t workload = 0, links = 0;
  std::string computes = {};  // likewise of the network, device and precision

  [[nodiscard]] bool is_alone() const { return log2_ranks == 0; }

  friend bool operator==(const Place&, const Place&) = default;
};

// How the logarithm of a point's step moves with each quantity, the others as the model has them;
// the whole is taken for their sum. Waits of an engine are at the ends of what they may be.
struct Response {
  static constexpr std::array<double, quantities> no_least = [] {
    std::array<double, quantities> least{};
    least.fill(-std::numeric_limits<double>::infinity());
    least[static_cast<std::size_t>(Unknown::host)] = 0;  // unless a step has its hooks
    return least;
  }();

  Place place = {};
  std::array<Curve, quantities> curves = {};
  double waits_low = 0, waits_high = 0;
  // No quantity below these is possible: 0 or less. Towards them values take ever smaller steps.
  std::array<double, quantities> least = no_least;
  // What overheads between GPUs are longer by where they are large: their tail. 0 or more.
  double rare = 0;
  // Logarithms over this step of the shortest that is possible, and of that of one GPU, than
  // which several take no less: with `compute` as described.
  double shortest = -std::numeric_limits<double>::infinity();
  double of_one_gpu = -std::numeric_limits<double>::infinity();
  Seconds step = {};        // that moves; 0: of no point
  std::uint64_t point = 0;  // its number, which tells apart points that have all else alike

  // The value within the bounds that an unbounded one stands for: the same unless near a bound, or
  // an overhead, of which `rare` makes large ones larger.
  [[nodiscard]] double bounded(Unknown quantity, double value) const;
  [[nodiscard]] std::array<double, quantities> bounded(std::array<double, quantities> values) const;
  // Of a value within the bounds.
  [[nodiscard]] double at(Unknown quantity, double value) const;
  // Of the shortest median: no shorter than one GPU's step, whose speed moves unless it was
  // measured.
  [[nodiscard]] double fastest(const std::array<double, quantities>& values) const;
  // By all quantities, within the bounds.
  [[nodiscard]] double moved(const std::array<double, quantities>& values) const;

  friend bool operator==(const Response&, const Response&) = default;
};

// Of what is a quantity itself: a measurement of nothing else.
[[nodiscard]] Response response_of_itself(const Place& place, Unknown quantity);

}  // namespace paceline::uncertain
