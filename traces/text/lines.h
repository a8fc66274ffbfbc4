#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/text/number.h"
#include "models/units/units.h"
#include "traces/text/format_error.h"

// Pieces that readers of texts share.
namespace paceline::traces {

[[nodiscard]] constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
[[nodiscard]] constexpr bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

[[nodiscard]] constexpr bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}
[[nodiscard]] constexpr bool contains(std::string_view text, char part) {
  return text.find(part) != std::string_view::npos;
}
[[nodiscard]] inline bool contains_any(std::string_view text,
                                       std::initializer_list<std::string_view> parts) {
  return std::ranges::any_of(parts, [&](std::string_view part) { return contains(text, part); });
}

template <class List>
[[nodiscard]] bool is_one_of(std::string_view word, const List& words) {
  return std::ranges::find(words, word) != std::ranges::end(words);
}

// What a table of names has for one; nullopt where the name is not in it.
template <class Value, std::size_t n>
[[nodiscard]] constexpr std::optional<Value> value_of(
    std::string_view name, const std::pair<std::string_view, Value> (&table)[n]) {
  for (const auto& [known, value] : table) {
    if (name == known) return value;
  }
  return std::nullopt;
}

// What follows the first of a part; nullopt where the text has none.
[[nodiscard]] inline std::optional<std::string_view> behind(std::string_view text,
                                                            std::string_view part) {
  const std::size_t at = text.find(part);
  return at == text.npos ? std::nullopt : std::optional(text.substr(at + part.size()));
}

// The text without a byte order mark, which editors of another system put first.
[[nodiscard]] inline std::string_view without_mark(std::string_view text) {
  constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  return text;
}

// Whether a text begins as JSON does: an object or an array.
[[nodiscard]] inline bool begins_as_json(std::string_view text) {
  text = without_mark(text);
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  return begin != text.npos && (text[begin] == '{' || text[begin] == '[');
}

// Whether bytes that begin a file may begin a text: none is zero.
[[nodiscard]] inline bool may_begin_text(std::string_view first) { return !contains(first, '\0'); }

// What of a text may show its format by words that stand anywhere: the first MiB of JSON, as traces
// of profilers are, nothing of a file whose first MiB has a byte of zero, and else all.
[[nodiscard]] inline std::string_view searched(std::string_view text) {
  constexpr std::size_t first = std::size_t{1} << 20U;
  if (!may_begin_text(text.substr(0, first))) return {};
  return begins_as_json(text) ? text.substr(0, first) : text;
}

// The line, from 1, that a byte of a text is in.
[[nodiscard]] inline std::size_t line_at(std::string_view text, std::size_t byte) {
  return static_cast<std::size_t>(std::ranges::count(text.substr(0, byte), '\n')) + 1;
}

// The text without a byte order mark. Throws FormatError where it has a zero byte.
[[nodiscard]] inline std::string_view plain_text(std::string_view text) {
  const std::size_t odd = text.find('\0');
  if (odd == text.npos) return without_mark(text);
  throw FormatError(line_at(text, odd), "is not text: it has a zero byte", "give the log itself");
}

// ASCII in lower case.
[[nodiscard]] inline std::string in_lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return lower;
}

// Without blanks and tabs around it.
[[nodiscard]] inline std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == text.npos) return text.substr(0, 0);
  return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

// Calls `take(number, line)` for each line, numbered from 1, without its end.
template <class Take>
void for_each_line(std::string_view text, const Take& take) {
  std::size_t number = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    while (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    take(++number, line);
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
}

using Words = std::vector<std::string_view>;

// What spaces and tabs leave, of a line that may be megabytes of something else: the first words.
[[nodiscard]] inline Words words_of(std::string_view line) {
  constexpr std::string_view blank = " \t";
  constexpr std::size_t words_most = 64;  // the longest row has 23
  Words words;
  std::size_t at = line.find_first_not_of(blank);
  while (at != std::string_view::npos && words.size() < words_most) {
    const std::size_t end = std::min(line.find_first_of(blank, at), line.size());
    words.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(blank, end);
  }
  return words;
}

// The first `most` cells of a line of comma-separated values, without blanks around them.
[[nodiscard]] inline Words cells_of(std::string_view line, std::size_t most) {
  Words cells;
  while (cells.size() < most) {
    const std::size_t comma = line.find(',');
    cells.push_back(trimmed(line.substr(0, comma)));
    if (comma == std::string_view::npos) break;
    line.remove_prefix(comma + 1);
  }
  return cells;
}

// Digits, whatever number they are; a minus sign before them.
[[nodiscard]] inline bool is_whole_number(std::string_view word) {
  if (!word.empty() && word.front() == '-') word.remove_prefix(1);
  return !word.empty() && word.find_first_not_of("0123456789") == std::string_view::npos;
}

// A time that a clock can have measured, and that can be computed with: no zero, NaN or infinity.
[[nodiscard]] inline std::optional<Seconds> measured_time(double value, double unit_s) {
  constexpr double shortest_s = 1e-12, longest_s = 1e9;
  const double time_s = value * unit_s;
  if (!(time_s >= shortest_s && time_s <= longest_s)) return std::nullopt;
  return Seconds(time_s);
}

// A buffer's size above zero; at most 2^56, more than the memory of any cluster.
[[nodiscard]] inline std::optional<Bytes> measured_size(std::optional<std::uint64_t> size) {
  constexpr std::uint64_t largest = std::uint64_t{1} << 56;
  if (!size || *size == 0 || *size > largest) return std::nullopt;
  return Bytes(*size);
}
[[nodiscard]] inline std::optional<Bytes> measured_size(std::string_view word) {
  return measured_size(number_of<std::uint64_t>(word));
}

// What a log says as messages and reports can show it: ASCII that can be printed, and not much.
[[nodiscard]] inline std::string shown(std::string_view text) {
  constexpr std::size_t most = 80;
  std::string out(text.substr(0, most));
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return text.size() > most ? out + "..." : out;
}

}  // namespace paceline::traces
