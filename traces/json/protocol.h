#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "models/run/resolved_point.h"

namespace paceline::traces {

// The lines that paceline and its executors exchange: a ResolvedPoint in, a Result or a failure
// out, one JSON object a line with the point's id. Numbers are SI, the unit in the key.
struct Failure {
  std::uint64_t id = 0;
  std::string what;
  bool refused = false;  // for the effort it would take; ResolvedPoint::force does it all the same
};
using Reply = std::variant<Result, Failure>;

[[nodiscard]] std::string to_line(const ResolvedPoint& point);
[[nodiscard]] std::string to_line(const Reply& reply);

// Throw std::runtime_error with what is wrong when the text is no such line.
[[nodiscard]] ResolvedPoint point_from_line(std::string_view line);
[[nodiscard]] Reply reply_from_line(std::string_view line);

}  // namespace paceline::traces
