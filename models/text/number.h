#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace paceline {

// A whole word as a number; nullopt when it is none.
template <class T>
[[nodiscard]] std::optional<T> number_of(std::string_view word) {
  T value{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  return value;
}

}  // namespace paceline
