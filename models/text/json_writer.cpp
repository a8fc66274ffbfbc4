#include "models/text/json_writer.h"

#include <array>
#include <charconv>
#include <cmath>
#include <ostream>

namespace paceline {
namespace {

// Its UTF-8 at the beginning of a text: how many bytes a character has, and whether it is whole. A
// part of one is as long as it may go on (Unicode 16, chapter 3.9, table 3-7 and "U+FFFD
// Substitution of Maximal Subparts").
struct Character {
  std::size_t length;
  bool is_whole;
};

Character first_of(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {1, true};
  if (first < 0xc2 || first > 0xf4) return {1, false};
  const std::size_t length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  const unsigned char least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const unsigned char most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  for (std::size_t i = 1; i < length; ++i) {
    const bool goes_on =
        i < text.size() && byte(i) >= (i == 1 ? least : 0x80) && byte(i) <= (i == 1 ? most : 0xbf);
    if (!goes_on) return {i, false};
  }
  return {length, true};
}

void append_escaped(std::string& out, char c) {
  constexpr std::string_view named = "\"\"\\\\\bb\ff\nn\rr\tt";  // a character and its letter
  for (std::size_t i = 0; i < named.size(); i += 2) {
    if (named[i] != c) continue;
    out += {'\\', named[i + 1]};
    return;
  }
  constexpr std::string_view digits = "0123456789abcdef";
  const auto code = static_cast<unsigned char>(c);
  out += "\\u00";
  out += {digits[code >> 4U], digits[code & 0xfU]};
}

bool is_plain(char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; }

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    std::size_t plain = 0;
    while (plain < text.size() && is_plain(text[plain])) ++plain;
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const auto [length, is_whole] = first_of(text);
    if (!is_whole) {
      out += "\xef\xbf\xbd";  // U+FFFD
    } else if (length > 1 || text[0] == 0x7f) {
      out += text.substr(0, length);
    } else {
      append_escaped(out, text[0]);
    }
    text.remove_prefix(length);
  }
  out += '"';
}

// The shortest that reads back equal, and no whole number, so that it reads back as a double.
std::string shortest(double value) {
  std::array<char, 32> digits{};
  const double size = std::abs(value);
  const bool is_fixed = size == 0 || (size >= 1e-4 && size < 1e15);
  const auto format = is_fixed ? std::chars_format::fixed : std::chars_format::scientific;
  const auto [end, error] =
      std::to_chars(digits.data(), digits.data() + digits.size(), value, format);
  const std::string text(digits.data(), end);
  return is_fixed && text.find('.') == text.npos ? text + ".0" : text;
}

}  // namespace

void JsonWriter::break_line() {
  if (indent_ == compact) return;
  text_ += '\n';
  text_.append(depth_ * static_cast<std::size_t>(indent_), ' ');
}

void JsonWriter::separate() {
  if (follows_key_) {
    follows_key_ = false;
    return;
  }
  if (depth_ == 0) return;
  if (!is_first_) text_ += ',';
  is_first_ = false;
  break_line();
}

void JsonWriter::written() {
  if (out_ == nullptr) return;
  constexpr std::size_t much = 1 << 16;
  if (depth_ == 0) text_ += '\n';
  if (depth_ > 0 && text_.size() < much) return;
  out_->write(text_.data(), static_cast<std::streamsize>(text_.size()));
  text_.clear();
}

void JsonWriter::begin(char bracket) {
  separate();
  text_ += bracket;
  ++depth_;
  is_first_ = true;
}

void JsonWriter::end(char bracket) {
  --depth_;
  if (!is_first_) break_line();
  is_first_ = false;
  text_ += bracket;
  written();
}

void JsonWriter::key(std::string_view name) {
  separate();
  append_quoted(text_, name);
  text_ += indent_ == compact ? ":" : ": ";
  follows_key_ = true;
}

void JsonWriter::raw(std::string_view json) {
  separate();
  text_ += json;
  written();
}

void JsonWriter::whole(std::int64_t value) { raw(std::to_string(value)); }

void JsonWriter::whole(std::uint64_t value) { raw(std::to_string(value)); }

void JsonWriter::number(double value) { raw(std::isfinite(value) ? shortest(value) : "null"); }

void JsonWriter::text(std::string_view value) {
  separate();
  append_quoted(text_, value);
  written();
}

}  // namespace paceline
