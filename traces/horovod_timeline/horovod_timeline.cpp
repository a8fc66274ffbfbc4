#include "traces/horovod_timeline/horovod_timeline.h"

#include <algorithm>
#include <array>

#include "traces/horovod_timeline/engine.h"
#include "traces/horovod_timeline/events.h"
#include "traces/horovod_timeline/told.h"
#include "traces/json/on_demand.h"
#include "traces/text/format_error.h"
#include "traces/text/plain_text.h"

namespace paceline::traces {

bool is_horovod_timeline(std::string_view text) {
  // What is cut out of a file may begin with an event.
  std::string_view beginning = beginning_of_array(text);
  if (beginning.empty()) beginning = beginning_of_object(text);
  constexpr std::array<std::string_view, 3> own{"\"NEGOTIATE_", "\"CYCLE_START\"",
                                                "\"start_time_since_epoch_in_micros\""};
  return beginning.find("\"ph\"") != std::string_view::npos &&
         beginning.find("\"traceEvents\"") == std::string_view::npos &&
         std::ranges::any_of(own, [&](std::string_view word) {
           return beginning.find(word) != std::string_view::npos;
         });
}

RunRecord read_horovod_timeline(std::string_view text) {
  horovod::Engine engine;
  const horovod::TimelineText found = horovod::for_each_event(
      plain_text(text), [&](const horovod::TimelineEvent& event) { engine.take(event); });
  if (!engine.first) {
    throw FormatError(0, "is a timeline of Horovod without an event that has a time",
                      "give the file after some steps: HOROVOD_TIMELINE names it");
  }
  return horovod::told_of(engine, found);
}

}  // namespace paceline::traces
