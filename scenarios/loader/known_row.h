#pragma once

#include <string>

#include "scenarios/loader/document/reader.h"

namespace paceline::loader {

inline constexpr const char* known_row_example =
    "write --known \"gpus=2,throughput=350 samples/s\"";

// "gpus=2,throughput=350 samples/s", as --known gives it: a map of single values by their paths, as
// an entry of measured.points is. Messages show the option and give no line. Throws InputError for
// what is not path=value with both, for a path that is named twice, and for both a throughput and
// a step.
[[nodiscard]] Field known_row(const std::string& text);

}  // namespace paceline::loader
