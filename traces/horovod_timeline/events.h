#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "traces/device_trace/device_trace.h"

// The events of Horovod's timeline, as they stand in the file.
namespace paceline::traces::horovod {

// Texts are views of the file, or of what is gone after the next event.
struct TimelineEvent {
  char phase = 0;                        // B, E, X, i, M
  std::string_view name;                 // of what begins; of a rank's tick its number
  std::optional<TraceTime> at;           // none of metadata
  std::optional<std::uint64_t> process;  // a tensor is one; none of marks
  // Of the arguments: a tensor's name, its type and shape, the start of a timeline since 1970.
  std::string_view process_name, type, shape, since_epoch_us;
};

// What else a file had.
struct TimelineText {
  std::uint64_t events = 0, broken = 0;
  std::size_t first_broken_line = 0;
  std::string first_broken;  // its beginning
  bool is_cut = false;       // in the middle of the last event
};

// Calls `take` with each event, in the order of the file. The list need not be closed, nor have its
// commas; what is no event is counted and passed over. Events may share lines or have several.
// One pass; O(1) memory.
[[nodiscard]] TimelineText for_each_event(std::string_view text,
                                          const std::function<void(const TimelineEvent&)>& take);

}  // namespace paceline::traces::horovod
