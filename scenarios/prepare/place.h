#pragma once

#include "models/uncertain/response.h"
#include "scenarios/loader/scenario.h"

namespace paceline {

// Says which class of links the scenario's point depends on, and how sure its compute is.
[[nodiscard]] uncertain::Place place_of(const Scenario& scenario);

// The same, as if no figures of its links were measured.
[[nodiscard]] uncertain::Place described_place_of(const Scenario& scenario);
// The place of a described point on a machine whose file says `network: measured`, or does not.
[[nodiscard]] uncertain::Place said_place_of(uncertain::Place described, bool is_measured);

}  // namespace paceline
