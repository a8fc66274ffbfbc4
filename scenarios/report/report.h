#pragma once

#include <iosfwd>
#include <vector>

#include "scenarios/loader/scenario_file.h"
#include "scenarios/outcome/point_outcome.h"

namespace paceline {

// A run in one of the result formats. All write the same points in the same order.

// For people: predicted | measured | error of each point, then assumptions and a summary of errors.
void write_table(std::ostream& out, const ScenarioFile& file,
                 const std::vector<PointOutcome>& outcomes);

// Which predicted collective calls a JSON holds, beside those of measured points, which it always
// does: all, or all where those of all points are few (at most calls_in_json_max), else none.
enum class CallsInJson { unless_many, all };
inline constexpr std::size_t calls_in_json_max = 5000;  // about a megabyte

// paceline.result/1: SI base units, the unit in the key. One object, ends with a line break.
void write_json(std::ostream& out, const ScenarioFile& file,
                const std::vector<PointOutcome>& outcomes, CallsInJson calls);

// A header line, then a line a point; the JSON's keys as columns, empty where there is no value.
void write_csv(std::ostream& out, const std::vector<PointOutcome>& outcomes);

// "assumed:" and each text once, in order; nothing when there is none. Empty texts are left out.
void write_assumptions(std::ostream& out, const std::vector<std::string>& assumptions);

// Those of several points, each once, with the points it is of unless it is of all.
[[nodiscard]] std::vector<std::string> assumptions_of(const std::vector<PointOutcome>& outcomes);

}  // namespace paceline
