#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "models/folding/folded_calls.h"
#include "models/topology/cluster.h"
#include "models/training/call_plan.h"
#include "models/training/step_program.h"

namespace paceline::folding {

// The numbers of a cluster's links that a sweep changes.
struct LinkNumbers {
  static constexpr std::size_t count = 4;
  // s: one way, of the network and in a node; s/B: of one NIC and of one GPU's link in a node.
  std::array<double, count> values{};
  static constexpr std::array<bool, count> is_of_a_byte{false, false, true, true};

  [[nodiscard]] static LinkNumbers of(const topology::Cluster& cluster);
  void give_to(topology::Cluster& cluster) const;
};

// A function of some numbers that is the largest of several linear ones, learnt from its values.
//
// What a collective call takes is one in latencies, size, and size over bandwidth: a path through
// its transfers takes a sum of these, the call as long as its longest path (max-plus linear;
// Baccelli et al., Synchronization and Linearity, 1992). It is held against values at the ends
// and in the middle of boxes of numbers; a box where it is wrong, which shared links can make it,
// is cut.
class LongestPath {
 public:
  using Place = std::vector<double>;  // each number above 0
  using Value = std::function<double(const Place&)>;

  // Between these places, in each number.
  LongestPath(Place least, Place most);

  // Asks `value` where it has to, the same place perhaps again.
  [[nodiscard]] double at(const Place& place, const Value& value);

  static constexpr double right_within = 1e-3;

 private:
  struct Piece {
    double constant;
    std::vector<double> slopes;

    [[nodiscard]] double at(const Place& place) const;
  };
  struct Box {
    Place low, high;
    int depth = 0;
    enum class State { new_, right, cut } state = State::new_;
    std::vector<Piece> pieces = {};
    std::size_t cut = 0;          // the number that is cut
    std::vector<Box> parts = {};  // two, or none
  };

  [[nodiscard]] static bool is_right(const Box& box, const Place& place, double true_value);
  [[nodiscard]] static double at(const Box& box, const Place& place);
  static void learn(Box& box, const Place& place, const Value& value);
  static void look_at(Box& box, const Value& value);

  Box whole_;
};

// What calls take alone on clusters that differ in the numbers of their links only, as functions of
// these and of the call's size: one for each structure (algorithm, options, wire, rounds).
class CallForms {
 public:
  struct Predicted {
    Seconds time;  // from when all ranks have joined it until the last is done
    // By how much less one takes that follows others at once: ranks that are done early begin it
    // before the last is.
    Seconds lead;
  };
  using Predict =
      std::function<Predicted(const topology::Cluster&, const training::CollectiveCall&)>;

  // Numbers asked for are from `least` to `most`, each.
  CallForms(topology::Cluster cluster, const LinkNumbers& least, const LinkNumbers& most,
            Predict predict);

  // Precondition: the call is simulated. What `predict` throws passes through.
  [[nodiscard]] Predicted time(training::CollectiveCall call, const LinkNumbers& at);

  // How often it simulated.
  [[nodiscard]] std::uint64_t simulated() const { return simulated_; }

 private:
  using Place = LongestPath::Place;

  // Calls that differ in their size only, from a power of 16 to the next; or one call.
  struct Form {
    training::CollectiveCall call;
    bool has_size = false;  // as a number of its own, the last one
    std::map<Place, Predicted> known;
    LongestPath first, next;  // a call, and one that follows others at once
  };

  Form& form_of(const training::CollectiveCall& call);
  [[nodiscard]] Form new_form(const training::CollectiveCall& call, bool has_size, double size_low,
                              double size_high) const;
  [[nodiscard]] Place place_of(const Form& form, double size, const LinkNumbers& at) const;
  Predicted simulate(Form& form, const Place& place);

  topology::Cluster cluster_;
  training::Planner planner_;
  LinkNumbers least_, most_;
  std::vector<std::size_t> differing_;  // numbers
  Predict predict_;
  // By the size of elements, and the power of 16 of the call's.
  std::map<Structure, std::map<std::pair<ElementSize, int>, Form>> by_structure_;
  std::map<training::CollectiveCall, Form*> by_call_;
  std::map<training::CollectiveCall, Form> alone_;
  std::uint64_t simulated_ = 0;
};

}  // namespace paceline::folding
