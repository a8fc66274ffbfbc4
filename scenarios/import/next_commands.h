#pragma once

#include <string>
#include <vector>

#include "scenarios/import/import.h"
#include "scenarios/import/traced_run.h"

namespace paceline {

// What to type next with what was found: a command, and what stands in it for something that the
// files do not tell.
struct NextCommand {
  std::string command;  // works as it is, typed in the folder where import was; empty: a note alone
  std::string note;     // may be empty
};

// For each kind of content, in the order in which import prints them. `profiled` is the step of the
// profilers' traces that replay takes; null where there is none.
[[nodiscard]] std::vector<NextCommand> next_commands(const Import& import,
                                                     const TracedRun* profiled);

}  // namespace paceline
