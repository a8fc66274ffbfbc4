#include "traces/json/on_demand.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "traces/text/format_error.h"
#include "traces/text/lines.h"

namespace paceline::traces {
namespace {

// `at`: the byte; nullopt where it is not found by reading on, but for the whole of the text.
FormatError not_json(std::string_view text, std::optional<std::size_t> at, const std::string& why,
                     const char* what_to_give) {
  return {
      at ? line_at(text, *at) : 0,
      "is not JSON, or cut off, at byte " + std::to_string(at.value_or(text.size())) + ": " + why,
      what_to_give};
}

std::string_view without_blanks(std::string_view json) {
  const std::size_t first = json.find_first_not_of(" \t\r\n");
  return first == std::string_view::npos ? std::string_view() : json.substr(first);
}

#if defined(__SANITIZE_ADDRESS__)
constexpr bool watches_memory = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr bool watches_memory = true;
#else
constexpr bool watches_memory = false;
#endif
#else
constexpr bool watches_memory = false;
#endif

// simdjson reads a few bytes behind a text. On the page of its last byte that is harmless, and
// saves a copy of all but one file in sixty; a sanitizer that watches memory would object.
bool can_be_read_behind(std::string_view text) {
  if (watches_memory) return false;
  constexpr std::uintptr_t page = 4096;  // the least there is
  const auto last = reinterpret_cast<std::uintptr_t>(text.data() + text.size() - 1);
  return last % page + simdjson::SIMDJSON_PADDING < page;
}

std::string_view beginning_of(std::string_view json, char bracket) {
  const std::string_view inside = without_blanks(without_mark(json));
  return inside.starts_with(bracket) ? inside.substr(0, 65536) : std::string_view();
}

}  // namespace

std::string_view beginning_of_object(std::string_view json) { return beginning_of(json, '{'); }
std::string_view beginning_of_array(std::string_view json) { return beginning_of(json, '['); }

std::optional<std::string> closed_where_cut(std::string_view json, std::size_t depth) {
  json = without_mark(json);
  std::string open, at_last;  // brackets, outermost first: now, and at the last whole value
  std::size_t last = 0;
  for (std::size_t i = 0; i < json.size(); ++i) {
    // Most of a text is neither.
    i = json.find_first_of("\"{}[]", i);
    if (i == std::string_view::npos) break;
    if (json[i] == '"') {
      for (++i; i < json.size() && json[i] != '"'; ++i) i += json[i] == '\\' ? 1U : 0U;
      if (i >= json.size()) break;
    } else if (json[i] == '{' || json[i] == '[') {
      open += json[i];
    } else if (open.empty() || open.back() != (json[i] == '}' ? '{' : '[')) {
      return std::nullopt;  // wrong, not cut
    } else {
      open.pop_back();
      if (open.size() > depth || open.empty()) continue;
      last = i + 1;
      at_last = open;
    }
  }
  if (open.empty() || last == 0) return std::nullopt;
  std::string closed(json.substr(0, last));
  for (auto bracket = at_last.rbegin(); bracket != at_last.rend(); ++bracket) {
    closed += *bracket == '{' ? '}' : ']';
  }
  return closed;
}

void read_json(std::string_view json, const char* what_to_give,
               const std::function<void(ondemand::document&)>& take) {
  json = plain_text(json);
  const bool in_place = can_be_read_behind(json);
  const simdjson::padded_string copy =
      in_place ? simdjson::padded_string() : simdjson::padded_string(json);
  const simdjson::padded_string_view text =
      in_place ? simdjson::padded_string_view(json.data(), json.size(),
                                              json.size() + simdjson::SIMDJSON_PADDING)
               : simdjson::padded_string_view(copy);
  ondemand::parser parser;
  ondemand::document document;
  if (const auto error = parser.iterate(text).get(document)) {
    throw not_json(json, std::nullopt, simdjson::error_message(error), what_to_give);
  }
  const auto place = [&]() -> std::optional<std::size_t> {
    const char* at = nullptr;
    if (document.current_location().get(at) != simdjson::SUCCESS) return std::nullopt;
    return std::min(static_cast<std::size_t>(at - text.data()), json.size());
  };
  try {
    take(document);
  } catch (const simdjson::simdjson_error& error) {
    // Found at the beginning, from what the end is.
    const bool is_cut = error.error() == simdjson::INCOMPLETE_ARRAY_OR_OBJECT;
    throw not_json(json, is_cut ? json.size() : place(), error.what(), what_to_give);
  }
  if (const auto rest = place()) throw not_json(json, rest, "more than one object", what_to_give);
}

void read_object(std::string_view json, const char* no_object, const char* what_to_give,
                 const std::function<void(ondemand::document&)>& take) {
  if (!without_blanks(plain_text(json)).starts_with('{')) {
    throw FormatError(0, no_object, what_to_give);
  }
  read_json(json, what_to_give, take);
}

}  // namespace paceline::traces
