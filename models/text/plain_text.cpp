#include "models/text/plain_text.h"

#include <cstddef>
#include <cstdint>

namespace paceline {
namespace {

std::uint8_t byte_of(char c) { return static_cast<std::uint8_t>(c); }

// How many bytes a character of UTF-8 has by its first one; 0 where none begins so.
std::size_t length_of(std::uint8_t first) {
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first < 0xe0) return 2;
  if (first >= 0xe0 && first < 0xf0) return 3;
  return first >= 0xf0 && first < 0xf5 ? 4 : 0;
}

// With as many hexadecimal digits.
std::string escaped(const char* before, std::uint32_t code, int digits) {
  std::string text = before;
  for (int digit = digits - 1; digit >= 0; --digit) {
    text += "0123456789abcdef"[code >> (4 * static_cast<unsigned>(digit)) & 0xfU];
  }
  return text;
}

bool goes_on(char c) { return (byte_of(c) & 0xc0U) == 0x80; }

std::uint32_t decoded(std::string_view character) {
  std::uint32_t code = byte_of(character[0]);
  if (character.size() > 1) code &= 0x7fU >> character.size();
  for (const char c : character.substr(1)) code = code << 6U | (byte_of(c) & 0x3fU);
  return code;
}

// C0 and C1 (Unicode 16, chapter 23.1), separators of lines and paragraphs, and Bidi_Control (UAX
// 9, PropList.txt).
bool steers(std::uint32_t code) {
  if (code == '\n' || code == '\t') return false;
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x061c || code == 0x200e ||
         code == 0x200f || (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

}  // namespace

std::string ControlEscaper::take(std::string_view piece) {
  std::string made;
  for (const char c : piece) {
    if (!open_.empty() && !goes_on(c)) made += rest();
    open_ += c;
    const std::size_t length = length_of(byte_of(open_[0]));
    if (length == 0) {
      made += rest();
    } else if (open_.size() == length) {
      const std::uint32_t code = decoded(open_);
      made += steers(code) ? escaped("\\u", code, 4) : open_;
      open_.clear();
    }
  }
  return made;
}

std::string ControlEscaper::rest() {
  std::string made;
  for (const char c : open_) made += escaped("\\x", byte_of(c), 2);
  open_.clear();
  return made;
}

std::string without_controls(std::string_view text) {
  ControlEscaper escaper;
  const std::string made = escaper.take(text);
  return made + escaper.rest();
}

std::string in_one_line(std::string_view text) {
  std::string made;
  for (const char c : without_controls(text)) {
    if (c == '\n') {
      made += "\\n";
    } else {
      made += c == '\t' ? ' ' : c;
    }
  }
  return made;
}

}  // namespace paceline
