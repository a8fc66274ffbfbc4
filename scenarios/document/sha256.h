#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace paceline::loader {

using Sha256 = std::array<std::uint8_t, 32>;

[[nodiscard]] Sha256 digest_of(std::string_view text);
// Of what a regular file holds. Throws InputError when it cannot be read.
[[nodiscard]] Sha256 sha256_of_file(const std::string& path);
// In hexadecimal digits.
[[nodiscard]] std::string sha256_of(const std::string& text);

}  // namespace paceline::loader
