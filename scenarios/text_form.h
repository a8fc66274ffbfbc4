#pragma once

#include <cstddef>
#include <iosfwd>
#include <streambuf>
#include <string>
#include <string_view>
#include <vector>

namespace paceline {

// How a report for people is written to a stream. JSON and CSV do not look at it.
struct TextForm {
  bool is_markdown = false;        // GitHub's; else plain text
  bool lists_assumptions = false;  // and all else that a report only counts by default
  bool has_colour = false;
  bool has_bars = false;    // in tables, where lines have room
  bool has_blocks = false;  // bars in eighths of a character (Unicode), else of '#'
};

// A stream's form is all false at first.
void set_text_form(std::ostream& out, TextForm form);
[[nodiscard]] TextForm text_form(std::ostream& out);

// Where escape sequences for colours go: past what escapes control characters in the stream's text.
// `raw` outlives the stream's reports; without one they go into the stream.
void set_raw_output(std::ostream& out, std::streambuf* raw);

enum class Paint { normal, header, good, bad };
// From here on; nothing where the stream's form is without colour. Sequences: ECMA-48, 8.3.117 SGR.
void paint(std::ostream& out, Paint with);

// A text of anybody as GitHub's Markdown shows it literally, in one line: no table, HTML, link,
// mention or list begins in it. Source: GitHub Flavored Markdown Spec 0.29, 6.1 (backslash
// escapes), 6.2 (entities), 6.9 (autolinks).
[[nodiscard]] std::string in_markdown(std::string_view text);
// As text or a quoted attribute of HTML and XML.
[[nodiscard]] std::string in_markup(std::string_view text);

// A bar of `part` (0 to 1, else cut) of `width` characters; without a rest of blanks.
[[nodiscard]] std::string bar_text(double part, std::size_t width, bool has_blocks);

// How many characters a line of text to this stream may have; 0, as at first: any number. What is
// no text for people (JSON, CSV) does not look at it.
void set_line_width(std::ostream& out, std::size_t characters);
[[nodiscard]] std::size_t line_width(std::ostream& out);

// A line, and a line break; broken between words where it is longer than `width` bytes, what goes
// on behind `indent` blanks. A word that is longer stays whole.
[[nodiscard]] std::string wrapped_line(std::string_view line, std::size_t width,
                                       std::size_t indent);

// The functions below write as the stream's form is (text_form.h).

// Writes a line as the stream's lines may be; what goes on is indented by four. In Markdown an item
// of a list, of an inner one where the line is indented.
void write_line(std::ostream& out, std::string_view line);

// Writes what a report is of, bold where the form can, the lines below that, without empty ones,
// and an empty line.
void write_headline(std::ostream& out, std::string_view line,
                    const std::vector<std::string>& below = {});

// Writes `title`, which is no text of others, and a colon, then the lines, indented; nothing
// without lines. In Markdown they are a block that opens on a click.
void write_block(std::ostream& out, std::string_view title, const std::vector<std::string>& lines);

}  // namespace paceline
