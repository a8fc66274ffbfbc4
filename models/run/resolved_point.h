#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/run/step_trace.h"
#include "models/topology/cluster.h"
#include "models/training/step_program.h"

namespace paceline {

enum class Fidelity {
  flow,    // every transfer a simulated flow
  folded,  // what is alike simulated once
  closed,  // formulas and recurrences
};

[[nodiscard]] std::string_view to_text(Fidelity fidelity);

// Everything an executor needs to run one point of a sweep; it crosses process borders.
struct ResolvedPoint {
  std::uint64_t id = 0;
  topology::Cluster cluster;
  training::StepProgram program;
  std::vector<double> slowdown;  // of compute, by rank; empty: 1 for all; each above 0
  Fidelity fidelity = Fidelity::folded;
  bool force = false;  // whatever effort it takes
};

// What an executor says of a point.
struct Result {
  std::uint64_t id = 0;
  Fidelity fidelity = Fidelity::flow;  // that it has: folding may have fallen back to flow
  StepTotals totals;
  StepTrace trace;
  std::uint64_t transfers = 0;       // that the prediction stands for
  std::uint64_t simgrid_solves = 0;  // times the engine shared out bandwidth; 0 when closed
  std::vector<std::string> notes;    // what was taken for granted on the way
};

// Rank r's factor.
[[nodiscard]] double slowdown_of(const ResolvedPoint& point, Rank rank);

}  // namespace paceline
