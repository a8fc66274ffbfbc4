#include "models/run/resolved_point.h"

#include "models/contract.h"

namespace paceline {

std::string_view to_text(Fidelity fidelity) {
  switch (fidelity) {
    case Fidelity::flow: return "flow";
    case Fidelity::closed: return "closed";
  }
  PACELINE_UNREACHABLE("a fidelity outside the enumeration");
  return {};
}

double slowdown_of(const ResolvedPoint& point, Rank rank) {
  return point.slowdown.empty() ? 1.0 : point.slowdown.at(index(rank));
}

}  // namespace paceline
