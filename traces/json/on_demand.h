#pragma once

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "traces/text/lines.h"

// JSON in one pass, without a tree of values: what is spelled is a view of the text.
namespace paceline::traces {

namespace ondemand = simdjson::ondemand;

// A value as the text has it: strings without quotes, lists with brackets, objects as nothing.
// Inline, as these run for millions of fields.
[[nodiscard]] inline std::string_view spelled(ondemand::value value) {
  std::string_view token = value.raw_json_token();
  while (!token.empty() && static_cast<unsigned char>(token.back()) <= ' ') token.remove_suffix(1);
  if (token.empty() || token.front() == '{') return {};
  if (token.front() == '[') return value.get_array().value().raw_json().value();
  if (token.front() != '"') return token;
  return token.size() < 2 ? std::string_view() : token.substr(1, token.size() - 2);
}

// The same, as it is meant: names of kernels and ranges. Lives as long as the parser.
[[nodiscard]] inline std::string_view unescaped(ondemand::value value) {
  const std::string_view name = spelled(value);
  if (!contains(name, '\\')) return name;
  std::string_view meant;
  return value.get_string().get(meant) == simdjson::SUCCESS ? meant : name;
}

[[nodiscard]] inline std::string_view key_of(ondemand::field& field) {
  const char* key = field.key().raw();
  return {key, static_cast<std::size_t>(std::strchr(key, '"') - key)};
}

[[nodiscard]] inline bool is_object(ondemand::value& value) {
  return value.type().value() == ondemand::json_type::object;
}

[[nodiscard]] inline bool is_array(ondemand::value& value) {
  return value.type().value() == ondemand::json_type::array;
}

// Those of an object's members; empty where it lacks one.
template <std::size_t n>
[[nodiscard]] std::array<std::string_view, n> spelled_members(ondemand::value object,
                                                              const std::string_view (&keys)[n]) {
  std::array<std::string_view, n> found;
  for (ondemand::field field : object.get_object()) {
    const auto key = std::ranges::find(keys, key_of(field));
    if (key != std::end(keys))
      found[static_cast<std::size_t>(key - std::begin(keys))] = spelled(field.value());
  }
  return found;
}

// The first 64 KiB of an object, or an array, from its bracket on (the properties of 16 devices are
// 8); empty for what is none.
[[nodiscard]] std::string_view beginning_of_object(std::string_view json);
[[nodiscard]] std::string_view beginning_of_array(std::string_view json);

// Of a JSON text that ends inside its object or list, up to the last whole value of at most `depth`
// brackets, closed behind it: {"a": [{}, {"b": 1 becomes {"a": [{}]} at a depth of 2. nullopt where
// no bracket is open at the end, or no such value is whole. A copy of the text; one pass.
[[nodiscard]] std::optional<std::string> closed_where_cut(std::string_view json, std::size_t depth);

// Calls `take` with the text's document. Throws FormatError, with the byte in its message, for what
// is not JSON, is cut off, or goes on behind what `take` read; `what_to_give` is its hint.
void read_json(std::string_view json, const char* what_to_give,
               const std::function<void(ondemand::document&)>& take);

// The same for a text that must be an object: where it is none, the error says `no_object`.
void read_object(std::string_view json, const char* no_object, const char* what_to_give,
                 const std::function<void(ondemand::document&)>& take);

}  // namespace paceline::traces
