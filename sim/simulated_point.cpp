#include "sim/simulated_point.h"

#include <stdexcept>

#include "models/folding/predicted_point.h"
#include "sim/child_simulation.h"
#include "traces/json/protocol.h"

namespace paceline::sim {

using traces::Failure;
using traces::Reply;

std::string reply_to(const ResolvedPoint& point) {
  try {
    return to_line(Reply(folding::predict(point, simulate_in_child)));
  } catch (const folding::NotSimulated& reason) {
    return to_line(Reply(Failure{point.id, reason.what(), reason.is_too_much}));
  } catch (const std::runtime_error& error) {
    return to_line(Reply(Failure{point.id, error.what()}));
  }
}

}  // namespace paceline::sim
