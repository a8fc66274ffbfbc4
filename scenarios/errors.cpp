#include "scenarios/errors.h"

#include <fmt/format.h>

namespace paceline {

std::string to_text(const Location& where) {
  std::string text = where.file;
  if (where.line > 0) text += fmt::format(":{}", where.line);
  if (where.line > 0 && where.column > 0) text += fmt::format(":{}", where.column);
  return text;
}

namespace {

// One line whatever the file held: control characters would break it or the terminal.
std::string line_of(const Location& where, const std::string& what, const std::string& hint) {
  std::string text = to_text(where) + ": " + what;
  if (!hint.empty()) text += "; " + hint;
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return text;
}

}  // namespace

InputError::InputError(Location where, const std::string& what, const std::string& hint)
    : std::runtime_error(line_of(where, what, hint)), where_(std::move(where)) {}

}  // namespace paceline
