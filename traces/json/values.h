#pragma once

#include <cstdint>
#include <exception>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "models/units/quantity.h"
#include "models/words.h"
#include "traces/text/lines.h"

// How single values stand in our JSON: numbers are SI and their keys name the unit, enumerations
// are words. What is none throws std::runtime_error.
namespace paceline {
namespace traces {

// The library converts -1, 1.5 and 1e300 to some whole number; here they are errors.
template <class Whole>
Whole whole(const nlohmann::json& in) {
  if (!in.is_number_unsigned() || in.get<std::uint64_t>() > std::numeric_limits<Whole>::max()) {
    throw std::runtime_error("not a whole number that fits" +
                             (in.is_primitive() ? ": " + in.dump() : std::string()));
  }
  return in.get<Whole>();
}

// Of an enumeration with a table of words.
template <class Enum>
Enum parse_word(const nlohmann::json& in) {
  const auto word = in.get<std::string>();
  if (const auto value = from_text<Enum>(word)) return *value;
  throw std::runtime_error("unknown word \"" + shown(word) + "\"");
}

// What went wrong without the library's own numbers: "[json.exception.type_error.302] type must be
// string, but is null".
inline std::string reason_of(const std::exception& error) {
  const std::string what = error.what();
  const std::size_t end = what.starts_with("[json.exception.") ? what.find("] ") : what.npos;
  return end == what.npos ? what : what.substr(end + 2);
}

// What `decode` makes of the value of a key that must be there. What is wrong names the key.
template <class Decode>
auto member(const nlohmann::json& in, const char* key, const Decode& decode) {
  if (!in.is_object()) throw std::runtime_error("is no object");
  const auto found = in.find(key);
  if (found == in.end()) throw std::runtime_error(std::string("has no \"") + key + "\"");
  try {
    return decode(*found);
  } catch (const std::exception& error) {
    throw std::runtime_error(std::string(key) + ": " + reason_of(error));
  }
}

template <class T>
T member(const nlohmann::json& in, const char* key) {
  return member(in, key, [](const nlohmann::json& value) { return value.get<T>(); });
}

// What `decode` makes of each element of a list. What is wrong names its place.
template <class Decode>
auto decoded_list(const nlohmann::json& in, const Decode& decode) {
  if (!in.is_array()) throw std::runtime_error("is no list");
  std::vector<decltype(decode(in))> all;
  for (const nlohmann::json& element : in) {
    try {
      all.push_back(decode(element));
    } catch (const std::exception& error) {
      throw std::runtime_error("[" + std::to_string(all.size()) + "]: " + reason_of(error));
    }
  }
  return all;
}

}  // namespace traces

template <class Tag, class Rep>
void to_json(nlohmann::json& out, const Quantity<Tag, Rep>& quantity) {
  out = quantity.value();
}
template <class Tag, class Rep>
void from_json(const nlohmann::json& in, Quantity<Tag, Rep>& quantity) {
  if constexpr (std::is_integral_v<Rep>) {
    quantity = Quantity<Tag, Rep>(traces::whole<Rep>(in));
  } else {
    // The library takes true for 1.
    if (in.is_boolean()) throw std::runtime_error("is no number");
    quantity = Quantity<Tag, Rep>(in.get<Rep>());
  }
}

}  // namespace paceline
