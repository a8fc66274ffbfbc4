#pragma once

#include <string>

#include "scenarios/init/draft.h"

namespace paceline::init {

[[nodiscard]] std::string in_one_line(const Entry& entry);  // its value and why

// The draft as a file: above each key what it means, by the tables of keys; behind its value where
// that comes from; first what was assumed, what to measure first and what to type next. `path` is
// how commands name the file.
[[nodiscard]] std::string scenario_text(const Draft& draft, const std::string& path);

}  // namespace paceline::init
