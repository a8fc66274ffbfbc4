#pragma once

#include "models/uncertain/response.h"
#include "scenarios/loader/scenario.h"

namespace paceline {

// Where the scenario's point stands among those of its machine: which class its links are of, and
// how sure its compute is.
[[nodiscard]] uncertain::Place place_of(const Scenario& scenario);

// The same where nothing says that figures of its links are measured.
[[nodiscard]] uncertain::Place described_place_of(const Scenario& scenario);
// A described place on a machine whose file says that they are (`network: measured`), or does not.
[[nodiscard]] uncertain::Place said_place_of(uncertain::Place described, bool is_measured);

}  // namespace paceline
