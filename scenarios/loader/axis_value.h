#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/loader/scenario_file.h"

// Values of axes, and how a command line names them. All that read throw InputError.
namespace paceline::loader {

// A value of the axis `path`, in SI units where it has a unit.
[[nodiscard]] AxisValue axis_value(const std::string& path, const Field& field);

// 100us and 0.1ms are the same, though their last bits differ.
[[nodiscard]] bool same(const AxisValue& a, const AxisValue& b);

// Whether both are the same value of an axis. Plain numbers may be versions (2.1 and 2.10) or
// seeds, where the last digit counts.
[[nodiscard]] bool is_twice(const AxisValue& a, const AxisValue& b);

// "3us, 5ms, ...": at most five, as they are spelled.
[[nodiscard]] std::string first_of(std::span<const AxisValue> values);

// A setting of the command line, which messages show.
[[nodiscard]] Field setting_field(const ScenarioFile::Setting& setting);

// Refuses a path with an empty part between dots.
void check_path(const Location& where, const std::string& path);

// Splits "gpus=2,step=1s" into paths and values, and refuses a path named twice. `example` is the
// hint.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> pairs_of(const std::string& text,
                                                                        const Location& where,
                                                                        const char* example);

// Finds a grid's point by "gpus=32,training.bucket_cap=25MiB", the value of --point; an axis that
// is not named has its last value. Returns its number.
[[nodiscard]] std::size_t point_named(const std::string& text,
                                      std::span<const ScenarioFile::Axis> axes);

}  // namespace paceline::loader
