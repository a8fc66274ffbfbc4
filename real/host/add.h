#pragma once

#include <cstddef>
#include <span>

#include "models/units/data_type.h"

namespace paceline::real {

// to[i] += from[i], in the type's own precision: sums of 16-bit types are rounded after each.
// Precondition: both are as long, whole elements, and aligned for the type.
void add(DataType type, std::span<std::byte> to, std::span<const std::byte> from);

}  // namespace paceline::real
