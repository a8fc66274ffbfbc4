#pragma once

#include "models/uncertain/response.h"
#include "scenarios/loader/scenario.h"

namespace paceline {

// Where the scenario's point stands among those of its machine: which class its links are of, and
// how sure its compute is.
[[nodiscard]] uncertain::Place place_of(const Scenario& scenario);

}  // namespace paceline
