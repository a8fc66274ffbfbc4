#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

// Pieces that readers of texts share.
namespace paceline::traces {

// Calls `take(number, line)` for each line, numbered from 1, without its end.
template <class Take>
void for_each_line(std::string_view text, const Take& take) {
  std::size_t number = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    take(++number, line);
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
}

// What spaces and tabs leave.
[[nodiscard]] inline std::vector<std::string_view> words_of(std::string_view line) {
  constexpr std::string_view blank = " \t";
  std::vector<std::string_view> words;
  std::size_t at = line.find_first_not_of(blank);
  while (at != std::string_view::npos) {
    const std::size_t end = std::min(line.find_first_of(blank, at), line.size());
    words.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(blank, end);
  }
  return words;
}

// All of a word as a number; nothing when it is none.
template <class T>
[[nodiscard]] std::optional<T> number_of(std::string_view word) {
  T value{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  return value;
}

// A number above zero, and a finite one.
[[nodiscard]] inline std::optional<double> positive_of(std::string_view word) {
  const auto value = number_of<double>(word);
  return value && std::isfinite(*value) && *value > 0 ? value : std::nullopt;
}

}  // namespace paceline::traces
