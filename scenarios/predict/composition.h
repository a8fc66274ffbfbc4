#pragma once

#include <functional>
#include <span>
#include <vector>

#include "models/cost/bounds.h"
#include "models/uncertain/belief.h"
#include "scenarios/prepare/resolve.h"

namespace paceline {

// A step with parts of it so many times as long as predicted.
struct StepScale {
  double compute = 1, waits = 1;
  double kernels = 1;                  // of compute, what hosts do not take
  double node_links = 1, network = 1;  // calls in a node, and those that leave it
  double overlap_lost = 0;             // uncertain::Unknown::overlap
  double whole = 1;                    // the step of a row that is known, by itself

  friend bool operator==(const StepScale&, const StepScale&) = default;
};
[[nodiscard]] StepScale scale_of(const PreparedPoint& prepared,
                                 const std::array<double, uncertain::quantities>& values);

// How many times as long an operation takes that is no call. What loads samples is no compute.
[[nodiscard]] double factor_of(const training::Operation& operation, double compute, double waits);

// Whether it is a step of one GPU that was measured: what rows of several are compared with.
[[nodiscard]] bool is_input(const uncertain::Place& place);

// Whether a call leaves its node: for another, or for servers that are not ranks.
[[nodiscard]] bool leaves_node(const PreparedPoint& prepared, const training::CollectiveCall& call);
[[nodiscard]] double call_factor(const PreparedPoint& prepared,
                                 const training::CollectiveCall& call, const StepScale& scale);

// By operation, the time for which a rank computes beside calls in which it moves data.
[[nodiscard]] std::vector<Seconds> time_beside_calls(const training::StepProgram& program,
                                                     const StepTrace& trace);

// A predicted step composed of its parts, for other lengths of them: calls are not simulated again.
class Composition {
 public:
  // Precondition: the result is of that point.
  Composition(const PreparedPoint& prepared, const Result& predicted);

  [[nodiscard]] Seconds step(const StepScale& scale) const;
  // What calls in a node and those that leave it take one after the other.
  [[nodiscard]] cost::LeastTimes call_times() const;
  [[nodiscard]] StepTrace trace(const StepScale& scale) const;

 private:
  [[nodiscard]] ResolvedPoint scaled(const StepScale& scale) const;

  const PreparedPoint& prepared_;
  const StepTrace& predicted_;
  ResolvedPoint point_;
  std::vector<Seconds> beside_calls_;
};

using ScaledSteps = std::function<std::vector<Seconds>(std::span<const StepScale> scales)>;

// How the point's step responds to what its description leaves open: from some eight steps, two
// more with an engine's waits. A wake comes at once, or as late again as on average.
[[nodiscard]] uncertain::Response response_of(const PreparedPoint& prepared, Seconds step,
                                              const ScaledSteps& steps_of);

// Bounds the response by what cannot be beaten: the bytes of calls over their wires, and one GPU's
// products and memory traffic at its peaks. The median is no shorter than the step of one GPU,
// unless several compute less of it; its interval may be, as that was measured once. `calls`: what
// they are predicted to take, one after the other.
void give_bounds(const PreparedPoint& prepared, const topology::Cluster& cluster,
                 const cost::LeastTimes& calls, uncertain::Response& response);

// The same as far as descriptions may be wrong (models/uncertain/contradiction.h): 16 steps or so.
[[nodiscard]] uncertain::Response far_response_of(const PreparedPoint& prepared, Seconds step,
                                                  const ScaledSteps& steps_of);
[[nodiscard]] uncertain::Curve kernels_of(Seconds step, const ScaledSteps& steps_of);

}  // namespace paceline
