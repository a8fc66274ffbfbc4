#include "scenarios/line_width.h"

#include <algorithm>
#include <ostream>

namespace paceline {
namespace {

int slot() {
  static const int of_streams = std::ios_base::xalloc();
  return of_streams;
}

}  // namespace

void set_line_width(std::ostream& out, std::size_t characters) {
  out.iword(slot()) = static_cast<long>(characters);
}

std::string wrapped_line(std::string_view whole, std::size_t width, std::size_t indent) {
  std::string made, line(whole);
  while (line.size() > width) {
    const std::size_t first = std::min(line.find_first_not_of(' '), line.size());
    std::size_t end = line.rfind(' ', width);
    if (end == std::string::npos || end <= first) end = line.find(' ', std::max(width, first));
    if (end == std::string::npos) break;
    made += line.substr(0, line.find_last_not_of(' ', end) + 1) + '\n';
    line = std::string(indent, ' ') + line.substr(end + 1);
  }
  return made + line + '\n';
}

void write_line(std::ostream& out, std::string_view line) {
  constexpr std::size_t indent = 4;
  const std::size_t width = line_width(out);
  out << wrapped_line(line, width == 0 ? line.size() : width, indent);
}

std::size_t line_width(std::ostream& out) { return static_cast<std::size_t>(out.iword(slot())); }

}  // namespace paceline
