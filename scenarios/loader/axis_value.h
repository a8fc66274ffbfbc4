#pragma once

#include <span>
#include <string>

#include "scenarios/loader/document/reader.h"
#include "scenarios/loader/scenario.h"

namespace paceline::loader {

// A value of the axis `path`, in SI units where it has a unit. Throws InputError for what is no
// single value.
[[nodiscard]] AxisValue axis_value(const std::string& path, const Field& field);

// 100us and 0.1ms are the same, though their last bits differ.
[[nodiscard]] bool same(const AxisValue& a, const AxisValue& b);

// Whether an axis with both has a value twice. Plain numbers may be versions (2.1 and 2.10) or
// seeds, of which the last digit counts.
[[nodiscard]] bool is_twice(const AxisValue& a, const AxisValue& b);

// "3us, 5ms, ...": as they are spelled, at most five.
[[nodiscard]] std::string first_of(std::span<const AxisValue> values);

}  // namespace paceline::loader
