#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "models/run/step_trace.h"

// Lanes and spans as JSON, alike in the protocol and in files of step traces. Decoding throws
// std::runtime_error, which names the place and the key, and takes any number for a time.
namespace paceline::traces {

[[nodiscard]] nlohmann::json encode_lanes(const std::vector<training::Lane>& lanes);
[[nodiscard]] std::vector<training::Lane> decode_lanes(const nlohmann::json& in);

[[nodiscard]] training::OperationKind decode_operation_kind(const nlohmann::json& in);

[[nodiscard]] nlohmann::json encode_spans(const std::vector<Span>& spans);
[[nodiscard]] std::vector<Span> decode_spans(const nlohmann::json& in);

[[nodiscard]] nlohmann::json encode_step_trace(const StepTrace& trace);
[[nodiscard]] StepTrace decode_step_trace(const nlohmann::json& in);

}  // namespace paceline::traces
