#include "scenarios/errors.h"

#include <fmt/format.h>

#include <mutex>
#include <set>
#include <utility>

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

namespace {

struct Heard {
  std::mutex mutex;
  WarningSink sink;
  std::set<std::string> said;
};

// Inputs are read at many places, some of them on threads of a sweep: what they say meets here.
Heard& heard() {
  static Heard only;
  return only;
}

}  // namespace

void hear_warnings(WarningSink sink) {
  const std::lock_guard lock(heard().mutex);
  heard().sink = std::move(sink);
  heard().said.clear();
}

void warn(const Location& where, const std::string& what, const std::string& hint) {
  const std::string line = InputError(where, what, hint).what();
  const std::lock_guard lock(heard().mutex);
  if (heard().sink && heard().said.insert(line).second) heard().sink(line);
}

}  // namespace paceline
