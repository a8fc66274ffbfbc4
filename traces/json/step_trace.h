#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "models/run/step_trace.h"

// Programs, and when ranks ran them, as JSON: alike in the protocol and in files of step traces.
// Decoding throws std::runtime_error, which names the place and the key, and takes any number for a
// time.
namespace paceline::traces {

[[nodiscard]] std::vector<training::Lane> decode_lanes(const nlohmann::json& in);

[[nodiscard]] nlohmann::json encode_program(const training::StepProgram& program);
[[nodiscard]] training::StepProgram decode_program(const nlohmann::json& in);

// An interval is [start, end, the operation that released it or null]: there are many.
[[nodiscard]] nlohmann::json encode_intervals(const std::vector<training::Interval>& intervals);
[[nodiscard]] std::vector<training::Interval> decode_intervals(const nlohmann::json& in);

// When ranks ran a program, without it.
[[nodiscard]] nlohmann::json encode_classes(const std::vector<RankClass>& classes);
[[nodiscard]] std::vector<RankClass> decode_classes(const nlohmann::json& in);

}  // namespace paceline::traces
