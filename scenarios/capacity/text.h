#pragma once

#include <string>

#include "models/units/units.h"

namespace paceline::capacity {

// For people: "3 d 4 h", "6 h", "2 h 31 min", "46 min", "4 min 10 s"; "never" of what has no end.
[[nodiscard]] std::string in_words(Seconds time);
// For tables: "4.43 h", "68.9 min", "5.6 d".
[[nodiscard]] std::string in_one_unit(Seconds time);

}  // namespace paceline::capacity
