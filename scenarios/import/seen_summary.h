#pragma once

#include <iosfwd>

#include "scenarios/import/import.h"

namespace paceline {

// What holds profilers' steps up, a line each, as far as it matters: that they are no training;
// devices that idle, for their input or their host; ranks that are late; steps that differ.
void write_seen_steps(std::ostream& out, const Import& import);

}  // namespace paceline
