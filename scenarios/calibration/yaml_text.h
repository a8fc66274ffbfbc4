#pragma once

#include <fmt/format.h>

#include <string>

// Values of the files that calibrate writes.
namespace paceline {

// Strings of others, as YAML's double-quoted scalars: what JSON has, it has.
inline std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) {
      out += '?';  // a path may be any bytes
    } else {
      out += c;
    }
  }
  return out + '"';
}

// All digits: what is read again predicts the same.
inline std::string exact(double value) { return fmt::format("{}", value); }

}  // namespace paceline
