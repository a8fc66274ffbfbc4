#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/units/units.h"

namespace paceline {

// The units that each parser of parse.h takes, as they are spelled.
struct UnitNames {
  std::vector<std::string_view> time, bandwidth, size, speed, throughput;
};
[[nodiscard]] const UnitNames& unit_names();

// As the other printers of parse.h: "19.5TFLOPS".
[[nodiscard]] std::string to_text(FlopsPerSecond speed);

}  // namespace paceline
