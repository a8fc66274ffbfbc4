#pragma once

#include <iosfwd>

#include "scenarios/doctor/doctor.h"

namespace paceline::doctor {

// For people: what there is, what is missing, what to use.
void write_text(std::ostream& out, const Examination& machine);

// paceline.doctor/1. One object, ends with a line break.
void write_json(std::ostream& out, const Examination& machine);

}  // namespace paceline::doctor
