#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "models/run/resolved_point.h"

namespace paceline::traces {

// The lines between paceline and its executors: a ResolvedPoint in, a Result or a failure out, one
// JSON object a line with the point's id. Numbers are SI, the unit in the key.
struct Failure {
  std::uint64_t id = 0;
  std::string what;
  bool refused = false;  // for the effort it would take; ResolvedPoint::force does it all the same
};
using Reply = std::variant<Result, Failure>;

[[nodiscard]] std::string to_line(const ResolvedPoint& point);
[[nodiscard]] std::string to_line(const Reply& reply);

// Said by an executor on the way to a reply: a step that counts is done, and took so long.
struct Progress {
  std::uint64_t id = 0;
  std::uint32_t step = 0;  // from 0
  Seconds duration;
};
[[nodiscard]] std::string to_line(const Progress& progress);
// nullopt when the line is another message.
[[nodiscard]] std::optional<Progress> progress_from_line(std::string_view line);

// Intervals alone, as ranks of a measured step pass them on.
[[nodiscard]] std::string to_text(const std::vector<training::Interval>& intervals);
[[nodiscard]] std::vector<training::Interval> intervals_from_text(std::string_view text);

// What one rank's calls took, likewise.
[[nodiscard]] std::string to_text(const RepeatedTime& call);
[[nodiscard]] RepeatedTime call_time_from_text(std::string_view text);

// Throw std::runtime_error with what is wrong when the text is no such line.
[[nodiscard]] ResolvedPoint point_from_line(std::string_view line);
// A result tells when operations ran; which ones is in the program of the point that was sent.
[[nodiscard]] Reply reply_from_line(std::string_view line, const training::StepProgram& program);

}  // namespace paceline::traces
