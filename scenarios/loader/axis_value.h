#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/loader/scenario_file.h"

// Values of axes, and what a command line says of them. All that read throw InputError.
namespace paceline::loader {

// A value of the axis `path`, in SI units where it has a unit.
[[nodiscard]] AxisValue axis_value(const std::string& path, const Field& field);

// 100us and 0.1ms are the same, though their last bits differ.
[[nodiscard]] bool same(const AxisValue& a, const AxisValue& b);

// Whether an axis with both has a value twice. Plain numbers may be versions (2.1 and 2.10) or
// seeds, of which the last digit counts.
[[nodiscard]] bool is_twice(const AxisValue& a, const AxisValue& b);

// "3us, 5ms, ...": as they are spelled, at most five.
[[nodiscard]] std::string first_of(std::span<const AxisValue> values);

// A value of the command line, as a field whose messages show the setting.
[[nodiscard]] Field setting_field(const ScenarioFile::Setting& setting);

// Every part between dots is a key or a number of a list.
void check_path(const Location& where, const std::string& path);

// What stands behind each path of "gpus=2,step=1s"; each is named once. `example` is the hint.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> pairs_of(const std::string& text,
                                                                        const Location& where,
                                                                        const char* example);

// The number of a grid's point with some values of its axes, "gpus=32,training.bucket_cap=25MiB",
// as --point gives them; of an axis that is not named the last value.
[[nodiscard]] std::size_t point_named(const std::string& text,
                                      std::span<const ScenarioFile::Axis> axes);

}  // namespace paceline::loader
