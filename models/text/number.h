#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
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

// With so many digits, at most 17, as printf's %g has them: "1.2e+07".
[[nodiscard]] inline std::string text_of(double value, int digits) {
  std::array<char, 32> text{};
  const auto general = std::chars_format::general;
  return {text.data(),
          std::to_chars(text.data(), text.data() + text.size(), value, general, digits).ptr};
}

// "1,281,167". Precondition: 0 or more.
[[nodiscard]] inline std::string in_thousands(double number) {
  std::array<char, 400> text{};
  const auto fixed = std::chars_format::fixed;
  std::string digits(text.data(),
                     std::to_chars(text.data(), text.data() + text.size(), number, fixed, 0).ptr);
  for (std::size_t end = digits.size(); end > 3; end -= 3) digits.insert(end - 3, ",");
  return digits;
}

// "1 GPU", "8 GPUs".
[[nodiscard]] inline std::string counted(std::uint64_t count, std::string_view noun) {
  return std::to_string(count).append(" ").append(noun).append(count == 1 ? "" : "s");
}

}  // namespace paceline
