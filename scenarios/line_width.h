#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace paceline {

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

// Writes what a report is of, bold where the form can, what stands below that, if anything, and an
// empty line.
void write_headline(std::ostream& out, std::string_view line, std::string_view below = "");

// Writes `title`, which is no text of others, and a colon, then the lines, indented; nothing
// without lines. In Markdown they are a block that opens on a click.
void write_block(std::ostream& out, std::string_view title, const std::vector<std::string>& lines);

}  // namespace paceline
