#include "scenarios/text_form.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <ostream>

#include "models/text/plain_text.h"

namespace paceline {
namespace {

constexpr std::array form_members{&TextForm::is_markdown, &TextForm::lists_assumptions,
                                  &TextForm::has_colour, &TextForm::has_bars,
                                  &TextForm::has_blocks};

enum class Kept { form, width };
template <Kept>
int slot() {
  static const int of_streams = std::ios_base::xalloc();
  return of_streams;
}

bool is_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// What Markdown takes for more than itself wherever it stands. Entities where a backslash does not
// help: GitHub looks for mentions, issues and formulas later.
std::string_view literal_of(char c) {
  switch (c) {
    case '\\': return "\\\\";
    case '`': return "\\`";
    case '*': return "\\*";
    case '[': return "\\[";
    case ']': return "\\]";
    case '~': return "\\~";
    case '|': return "\\|";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '&': return "&amp;";
    case '@': return "&#64;";
    case '#': return "&#35;";
    case '$': return "&#36;";
    default: return {};
  }
}

// A list or a rule begins with it, as the first of a line: "- ", "+ ", "1. ", "1) " and "---".
bool begins_block(std::string_view line) {
  if (line.empty()) return false;
  const auto ends_at = [&](std::size_t at) { return at >= line.size() || line[at] == ' '; };
  if (line[0] == '-' || line[0] == '+') return ends_at(1) || line.starts_with("--");
  const std::size_t end = line.find_first_not_of("0123456789");
  const bool is_numbered = end != 0 && end != line.npos && (line[end] == '.' || line[end] == ')');
  return is_numbered && ends_at(end + 1);
}

// The numbers of SGR: 0 default, 1 bold, 31 red, 32 green.
std::string_view sequence_of(Paint with) {
  switch (with) {
    case Paint::normal: return "\033[0m";
    case Paint::header: return "\033[1m";
    case Paint::good: return "\033[32m";
    case Paint::bad: return "\033[31m";
  }
  return "";
}

}  // namespace

void set_text_form(std::ostream& out, TextForm form) {
  unsigned bits = 0;
  for (std::size_t i = 0; i < form_members.size(); ++i) {
    if (form.*form_members[i]) bits |= 1U << i;
  }
  out.iword(slot<Kept::form>()) = static_cast<long>(bits);
}

TextForm text_form(std::ostream& out) {
  const auto bits = static_cast<unsigned>(out.iword(slot<Kept::form>()));
  TextForm form;
  for (std::size_t i = 0; i < form_members.size(); ++i) {
    form.*form_members[i] = (bits >> i & 1U) != 0;
  }
  return form;
}

void set_raw_output(std::ostream& out, std::streambuf* raw) { out.pword(slot<Kept::form>()) = raw; }

void paint(std::ostream& out, Paint with) {
  if (!text_form(out).has_colour) return;
  auto* raw = static_cast<std::streambuf*>(out.pword(slot<Kept::form>()));
  if (raw == nullptr) raw = out.rdbuf();
  const std::string_view sequence = sequence_of(with);
  (void)raw->sputn(sequence.data(), static_cast<std::streamsize>(sequence.size()));
}

std::string in_markup(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '&': escaped += "&amp;"; break;
      case '"': escaped += "&quot;"; break;
      default: escaped += c;
    }
  }
  return escaped;
}

std::string in_markdown(std::string_view text) {
  const std::string line = in_one_line(text);
  std::string made;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    const std::string_view rest = std::string_view(line).substr(i);
    const bool is_in_word = i > 0 && is_word(line[i - 1]) && i + 1 < line.size();
    if (const std::string_view literal = literal_of(c); !literal.empty()) {
      made += literal;
    } else if (c == '_' && !(is_in_word && is_word(line[i + 1]))) {
      made += "\\_";
    } else if (rest.starts_with("://")) {
      made += "&#58;";
    } else if (c == '.' && i >= 3 && (line[i - 1] | 0x20) == 'w' && (line[i - 2] | 0x20) == 'w') {
      made += "&#46;";
    } else {
      made += c;
    }
  }
  if (!begins_block(line)) return made;
  const std::size_t at = made.find_first_not_of("0123456789");
  return made.insert(at, "\\");
}

std::string bar_text(double part, std::size_t width, bool has_blocks) {
  constexpr unsigned eighths = 8;
  const double full = std::clamp(part, 0.0, 1.0) * static_cast<double>(width);
  if (!has_blocks) return std::string(static_cast<std::size_t>(std::lround(full)), '#');
  const auto in_eighths = static_cast<std::size_t>(std::lround(eighths * full));
  std::string bar;
  for (std::size_t i = 0; i < in_eighths / eighths; ++i) bar += "\u2588";
  // From one eighth, U+258F, to seven, U+2589 (Unicode, Block Elements).
  constexpr std::array parts{"",       "\u258f", "\u258e", "\u258d",
                             "\u258c", "\u258b", "\u258a", "\u2589"};
  return bar + parts[in_eighths % eighths];
}

void set_line_width(std::ostream& out, std::size_t characters) {
  out.iword(slot<Kept::width>()) = static_cast<long>(characters);
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

void write_headline(std::ostream& out, std::string_view line,
                    const std::vector<std::string>& below) {
  const bool is_markdown = text_form(out).is_markdown;
  if (is_markdown) {
    out << "**" << in_markdown(line) << "**\n\n";
  } else {
    paint(out, Paint::header);
    write_line(out, line);
    paint(out, Paint::normal);
  }
  for (const std::string& text : below) {
    if (text.empty()) continue;
    is_markdown ? void(out << in_markdown(text) << "\n\n") : write_line(out, text);
  }
  if (!is_markdown) out << '\n';
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

std::size_t line_width(std::ostream& out) {
  return static_cast<std::size_t>(out.iword(slot<Kept::width>()));
}

}  // namespace paceline
