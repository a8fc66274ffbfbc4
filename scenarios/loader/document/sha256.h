#pragma once

#include <string>

namespace paceline::loader {

// In hexadecimal digits.
[[nodiscard]] std::string sha256_of(const std::string& text);

}  // namespace paceline::loader
