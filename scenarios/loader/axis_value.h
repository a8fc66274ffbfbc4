#pragma once

#include <cstddef>
#include <optional>
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

// The same, but plain numbers may be versions (2.1 and 2.10) or seeds: there the last digit counts.
[[nodiscard]] bool is_twice(const AxisValue& a, const AxisValue& b);

// "3us, 5ms, ...": at most five, as they are spelled.
[[nodiscard]] std::string first_of(std::span<const AxisValue> values);

// A setting of the command line, which messages show.
[[nodiscard]] Field setting_field(const ScenarioFile::Setting& setting);

// Takes out of the document what a setting without a value names, below that prefix of paths;
// returns it. Throws InputError where the document does not have that.
Field take_out(DocumentPtr& document, const ScenarioFile::Setting& setting,
               const std::string& prefix = "");

// Refuses a path with an empty part between dots.
void check_path(const Location& where, const std::string& path);

// Splits "gpus=2,step=1s" into paths and values; refuses one named twice, with the hint `example`.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> pairs_of(const std::string& text,
                                                                        const Location& where,
                                                                        const char* example);

// Finds a grid's point by "gpus=32,training.bucket_cap=25MiB", the value of --point; an axis that
// is not named has its last value. Returns its number.
[[nodiscard]] std::size_t point_named(const std::string& text,
                                      std::span<const ScenarioFile::Axis> axes);

// What an entry of `measured.points` or an option --known says, before it is matched with the grid.
// All here throw InputError.
struct MeasuredRow {
  Location where;
  std::vector<AxisValue> axes;
  std::optional<Field> throughput;  // this or the step
  std::optional<Seconds> step;
  bool known = false;
  double deviation = 0;  // MeasuredPoint::deviation
};

using Axes = std::span<const ScenarioFile::Axis>;

[[nodiscard]] MeasuredRow row_of_file(const Field& entry, Axes axes);

// Parses "gpus=2,throughput=350 samples/s", the value of --known, to a map like an entry of
// measured.points. Messages show the option and give no line.
[[nodiscard]] Field known_row(const std::string& text);
// Reads such a map, which may name gpus where no axis does.
[[nodiscard]] MeasuredRow row_of_command_line(const Field& known_row, Axes axes);

// The points of a grid that a row may be of.
struct Matched {
  std::size_t count = 1, first = 0;
  std::vector<std::string> not_named;          // axes of several values
  std::vector<std::vector<std::size_t>> fits;  // by axis, the numbers of its values

  [[nodiscard]] std::vector<std::size_t> points(Axes axes) const;

  // Throws where there are several; none is allowed.
  void expect_one(const Location& where) const;
};

// `gpus` stands in for a row that names none.
[[nodiscard]] Matched matched(const MeasuredRow& row, Axes axes,
                              const std::optional<AxisValue>& gpus);

// Throws for an axis that has no such value.
void expect_values(const MeasuredRow& row, Axes axes);

// The speed of one GPU is an input of its own.
[[noreturn]] void refuse_one_gpu(const Location& where, const std::optional<Field>& throughput);

}  // namespace paceline::loader
