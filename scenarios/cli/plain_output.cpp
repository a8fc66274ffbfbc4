#include "scenarios/cli/plain_output.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <ostream>

namespace paceline::cli {
namespace {

std::uint8_t byte_of(char c) { return static_cast<std::uint8_t>(c); }

// How many bytes a character of UTF-8 has by its first one; 0 where none begins so.
std::size_t length_of(std::uint8_t first) {
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first < 0xe0) return 2;
  if (first >= 0xe0 && first < 0xf0) return 3;
  return first >= 0xf0 && first < 0xf5 ? 4 : 0;
}

bool goes_on(char c) { return (byte_of(c) & 0xc0U) == 0x80; }

std::uint32_t decoded(std::string_view character) {
  std::uint32_t code = byte_of(character[0]);
  if (character.size() > 1) code &= 0x7fU >> character.size();
  for (const char c : character.substr(1)) code = code << 6U | (byte_of(c) & 0x3fU);
  return code;
}

// C0 and C1 (Unicode 16, chapter 23.1), and Bidi_Control (UAX 9, PropList.txt).
bool steers(std::uint32_t code) {
  if (code == '\n' || code == '\t') return false;
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x061c || code == 0x200e ||
         code == 0x200f || (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
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
      made += steers(code) ? fmt::format("\\u{:04x}", code) : open_;
      open_.clear();
    }
  }
  return made;
}

std::string ControlEscaper::rest() {
  std::string made;
  for (const char c : open_) made += fmt::format("\\x{:02x}", byte_of(c));
  open_.clear();
  return made;
}

std::string without_controls(std::string_view text) {
  ControlEscaper escaper;
  const std::string made = escaper.take(text);
  return made + escaper.rest();
}

PlainOutput::PlainOutput(std::ostream& out) : out_(out), target_(out.rdbuf(this)) {}

PlainOutput::~PlainOutput() {
  (void)put(escaper_.rest());
  (void)target_->pubsync();
  out_.rdbuf(target_);
}

bool PlainOutput::put(std::string_view text) {
  const auto size = static_cast<std::streamsize>(text.size());
  return noted(target_->sputn(text.data(), size) == size);
}

bool PlainOutput::noted(bool went_well) {
  if (!went_well && error_ == 0) error_ = errno;
  return went_well;
}

PlainOutput::int_type PlainOutput::overflow(int_type c) {
  if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
  const char one = traits_type::to_char_type(c);
  return put(escaper_.take({&one, 1})) ? c : traits_type::eof();
}

std::streamsize PlainOutput::xsputn(const char* text, std::streamsize size) {
  return put(escaper_.take({text, static_cast<std::size_t>(size)})) ? size : 0;
}

int PlainOutput::sync() { return noted(target_->pubsync() == 0) ? 0 : -1; }

}  // namespace paceline::cli
