#pragma once

#include <iosfwd>
#include <vector>

#include "scenarios/claims/verdict.h"

namespace paceline::claims {

// A paragraph a claim, then a line each. Where `with_conditions` a table of every condition, too.
void write_text(std::ostream& out, const std::vector<Finding>& findings, bool with_conditions);

// paceline.claims/1: ratios and parts as numbers (0.5 for 50 %). One object, ends with a line
// break.
void write_json(std::ostream& out, const std::vector<Finding>& findings, bool is_complete);

}  // namespace paceline::claims
