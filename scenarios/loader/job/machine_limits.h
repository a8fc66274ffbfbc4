#pragma once

#include <vector>

#include "scenarios/loader/document/section.h"
#include "scenarios/loader/job/catalogue.h"

namespace paceline::loader {

struct WithinLimits {
  std::vector<Machine> machines;  // in their order, one or more
  std::size_t elsewhere = 0;      // left out, as they are in no allowed region
};

// The machines that `limits.regions`, `.devices` and `.machines` leave. Throws InputError where one
// of their entries is of no machine at all, and where they leave none.
[[nodiscard]] WithinLimits within_limits(std::vector<Machine> machines, Section& limits);

}  // namespace paceline::loader
