#pragma once

#include <vector>

#include "models/run/step_trace.h"
#include "models/text/json_writer.h"
#include "traces/json/json_value.h"

// Programs, and when ranks ran them, as JSON, for the protocol and files of step traces. Decoding
// takes any number for a time; it throws std::runtime_error, which names the place and the key.
namespace paceline::traces {

void write_program(JsonWriter& out, const training::StepProgram& program);
[[nodiscard]] training::StepProgram decode_program(const JsonValue& in);

// An interval is [start, end, the operation that released it or null]: there are many.
void write_intervals(JsonWriter& out, const std::vector<training::Interval>& intervals);
[[nodiscard]] std::vector<training::Interval> decode_intervals(const JsonValue& in);

// When ranks ran a program, without it.
void write_classes(JsonWriter& out, const std::vector<RankClass>& classes);
[[nodiscard]] std::vector<RankClass> decode_classes(const JsonValue& in);

}  // namespace paceline::traces
