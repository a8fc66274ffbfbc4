#pragma once

#include <iosfwd>

#include "scenarios/judge/health.h"

namespace paceline {

void write_text(std::ostream& out, const Health& made);

// paceline.health/1. One object, ends with a line break.
void write_json(std::ostream& out, const Health& made);

}  // namespace paceline
