#include "sim/flow/simulated_point.h"

#include <stdexcept>

#include "sim/flow/child_simulation.h"
#include "sim/folded/predicted_point.h"
#include "traces/json/protocol.h"

namespace paceline::sim {

using traces::Failure;
using traces::Reply;

std::string reply_to(const ResolvedPoint& point) {
  try {
    return to_line(Reply(sim::predict(point, simulate_in_child)));
  } catch (const sim::NotSimulated& reason) {
    return to_line(Reply(Failure{point.id, reason.what(), reason.is_too_much}));
  } catch (const std::runtime_error& error) {
    return to_line(Reply(Failure{point.id, error.what()}));
  }
}

}  // namespace paceline::sim
