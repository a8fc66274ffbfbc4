#pragma once

#include <cstddef>
#include <string_view>

namespace paceline::traces {

// The text without a byte order mark.
[[nodiscard]] std::string_view without_mark(std::string_view text);

// Whether a text begins as JSON does: an object or an array.
[[nodiscard]] bool begins_as_json(std::string_view text);

// Whether bytes that begin a file may begin a text: none is zero.
[[nodiscard]] bool may_begin_text(std::string_view first);

// The line, from 1, that a byte of a text is in.
[[nodiscard]] std::size_t line_at(std::string_view text, std::size_t byte);

// The text without a byte order mark. Throws FormatError where it has a zero byte.
[[nodiscard]] std::string_view plain_text(std::string_view text);

}  // namespace paceline::traces
