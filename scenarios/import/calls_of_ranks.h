#pragma once

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>

#include "scenarios/import/import.h"

namespace paceline {

// What a run that hangs hangs in: the first collective of each group that some rank had not ended,
// or not come to, when the traces were written. Nothing where all have ended.
void write_unfinished(std::ostream& out, const Import& import);
[[nodiscard]] nlohmann::ordered_json unfinished_json(const Import& import);

// Which ranks called collectives late, by their hosts' clocks, where traces tell these.
void write_called_late(std::ostream& out, const Import& import, Rows rows);
[[nodiscard]] nlohmann::ordered_json called_late_json(const Import& import);

}  // namespace paceline
