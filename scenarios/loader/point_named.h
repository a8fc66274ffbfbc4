#pragma once

#include <cstddef>
#include <string>

#include "scenarios/loader/measured_row.h"

namespace paceline::loader {

// The number of a grid's point with some values of its axes, "gpus=32,training.bucket_cap=25MiB",
// as --point gives them; of an axis that is not named the last value. Throws InputError for what is
// not path=value, an axis that the grid has not, one that is named twice, and a value that its axis
// does not have.
[[nodiscard]] std::size_t point_named(const std::string& text, Axes axes);

}  // namespace paceline::loader
