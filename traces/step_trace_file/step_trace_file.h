#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/run/step_trace.h"
#include "models/words.h"
#include "traces/text/format_error.h"

namespace paceline::traces {

enum class Origin { predicted, measured, imported };

constexpr auto words_of(Origin) {
  return words_up_to<Origin::imported>("predicted", "measured", "imported");
}
using paceline::to_text;

// A run of which one step is known.
struct TraceRun {
  std::string name;
  Origin origin = Origin::predicted;
  StepTrace trace;
  std::optional<std::uint32_t> batch_per_gpu = std::nullopt;  // samples of a step; nullopt: unknown
  std::vector<std::string> assumptions = {};                  // about the run; sentences
  // Of a run that had more ranks than were traced, how many; and how many GPUs its nodes had.
  std::optional<std::uint32_t> world_size = std::nullopt, gpus_per_node = std::nullopt;
  std::string device = {};  // as its profiler called it; empty: not told
  std::vector<Seconds> step_lengths =
      {};  // of all steps that were traced, where more than this one
};

// Runs as JSON, schema paceline.trace/2, a line per run; README.md has the keys. Times keep every
// bit, names what of them is UTF-8. Throws FormatError for what read_step_traces would refuse.
void write_step_traces(std::ostream& out, const std::vector<TraceRun>& runs);

// An object whose first key is its schema, paceline.trace of any version.
[[nodiscard]] bool is_step_traces(std::string_view text);

// Throws FormatError, with the byte or the place and the key in its message, for what is not JSON
// or is cut off, for another version, a run without ranks, with more than traced_ranks_most or one
// of them twice, times that are negative, reversed or beyond 1e9 s, and classes of ranks that are
// not of the program's operations.
[[nodiscard]] std::vector<TraceRun> read_step_traces(std::string_view text);

}  // namespace paceline::traces
