#pragma once

#include <iosfwd>

#include "scenarios/compare/comparison.h"

namespace paceline::compare {

// For people: a row a pair of points, then what its words stand for where it matters.
void write_text(std::ostream& out, const Comparison& comparison);

// paceline.comparison/1: SI base units, the unit in the key. One object, ends with a line break.
void write_json(std::ostream& out, const Comparison& comparison);

}  // namespace paceline::compare
