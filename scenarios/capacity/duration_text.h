#pragma once

#include <string>

#include "models/units/units.h"

namespace paceline::capacity {

// For people: "3 d 4 h", "6 h", "2 h 31 min", "45 s"; "never" of what has no end.
[[nodiscard]] std::string in_words(Seconds time);

// Both in one unit, that of the longer: "4.4 - 5.6 h", "3 - 5.6 d".
[[nodiscard]] std::string range_in_words(Seconds shorter, Seconds longer);

}  // namespace paceline::capacity
