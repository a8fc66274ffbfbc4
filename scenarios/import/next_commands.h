#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "scenarios/import/import.h"
#include "scenarios/import/traced_run.h"

namespace paceline {

// "a.json 'my run/b.json'": as a shell takes them.
[[nodiscard]] std::string typed(const std::vector<std::string>& paths);

// What to type next with the files that were given as `paths` (typed): commands that work, and for
// what cannot be replayed elsewhere the reason.
void write_next(std::ostream& out, const Import& import, const TracedRun& traced,
                const std::string& paths);

}  // namespace paceline
