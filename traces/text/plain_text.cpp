#include "traces/text/plain_text.h"

#include <algorithm>

#include "traces/text/format_error.h"

namespace paceline::traces {

std::string_view without_mark(std::string_view text) {
  // What editors of another system put first.
  constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  return text;
}

bool begins_as_json(std::string_view text) {
  text = without_mark(text);
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  return begin != std::string_view::npos && (text[begin] == '{' || text[begin] == '[');
}

bool may_begin_text(std::string_view first) { return first.find('\0') == first.npos; }

std::size_t line_at(std::string_view text, std::size_t byte) {
  return static_cast<std::size_t>(std::ranges::count(text.substr(0, byte), '\n')) + 1;
}

std::string_view plain_text(std::string_view text) {
  const std::size_t odd = text.find('\0');
  if (odd == std::string_view::npos) return without_mark(text);
  throw FormatError(line_at(text, odd), "is not text: it has a zero byte", "give the log itself");
}

}  // namespace paceline::traces
