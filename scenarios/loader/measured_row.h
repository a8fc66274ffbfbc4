#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "scenarios/loader/scenario_file.h"

namespace paceline::loader {

// What an entry of `measured.points` or an option --known says, before it is matched with the grid.
// All here throw InputError.
struct MeasuredRow {
  Location where;
  std::vector<AxisValue> axes;
  std::optional<Field> throughput;  // this or the step
  std::optional<Seconds> step;
  bool known = false;
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
  std::vector<std::string> not_named;  // axes of several values

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
