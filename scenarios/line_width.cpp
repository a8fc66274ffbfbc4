#include "scenarios/line_width.h"

#include <algorithm>
#include <ostream>

#include "scenarios/text_form.h"

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
  if (text_form(out).is_markdown) {
    const std::size_t first = std::min(line.find_first_not_of(' '), line.size());
    out << (first > 0 ? "  - " : "- ") << in_markdown(line.substr(first)) << '\n';
    return;
  }
  constexpr std::size_t indent = 4;
  const std::size_t width = line_width(out);
  out << wrapped_line(line, width == 0 ? line.size() : width, indent);
}

void write_headline(std::ostream& out, std::string_view line, std::string_view below) {
  if (text_form(out).is_markdown) {
    out << "**" << in_markdown(line) << "**\n\n";
    if (!below.empty()) out << in_markdown(below) << "\n\n";
    return;
  }
  paint(out, Paint::header);
  write_line(out, line);
  paint(out, Paint::normal);
  if (!below.empty()) write_line(out, below);
  out << '\n';
}

void write_block(std::ostream& out, std::string_view title, const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  const bool is_markdown = text_form(out).is_markdown;
  if (is_markdown) {
    out << "\n<details><summary>" << title << "</summary>\n\n";
  } else {
    out << '\n' << title << ":\n";
  }
  for (const std::string& line : lines) write_line(out, is_markdown ? line : "  " + line);
  if (is_markdown) out << "\n</details>\n";
}

std::size_t line_width(std::ostream& out) { return static_cast<std::size_t>(out.iword(slot())); }

}  // namespace paceline
