#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

#include "models/units/units.h"
#include "models/words.h"

namespace paceline::settings {

// Of a library, "2.1".
struct Version {
  std::uint32_t major = 0, minor = 0;

  friend auto operator<=>(const Version&, const Version&) = default;
};

// What a key takes: true or false, a whole number of a closed range, a time, a bandwidth above 0, a
// size above 0, one of some words (its value is the index), a version.
struct Flag {};
struct Count {
  std::uint64_t least, most;
};
struct Time {};
struct Bandwidth {};
struct Size {};
struct OneOf {
  std::span<const std::string_view> words;
};
struct VersionNumber {};

using Type = std::variant<Flag, Count, Time, Bandwidth, Size, OneOf, VersionNumber>;
using Value = std::variant<bool, std::uint64_t, Seconds, BytesPerSecond, Bytes, Version>;

// The words of an enumeration, and the value of one of them.
template <HasWords Enum>
inline constexpr auto texts_of = [] {
  constexpr auto known = words_of(Enum{});
  std::array<std::string_view, known.size()> texts;
  for (std::size_t i = 0; i < known.size(); ++i) texts[i] = known[i].text;
  return texts;
}();

template <HasWords Enum>
[[nodiscard]] constexpr Value value_of(Enum one) {
  constexpr auto known = words_of(Enum{});
  std::uint64_t index = 0;
  while (known[index].value != one) ++index;
  return index;
}

// Where a key has these words for what holds unless it is given, they may be given too, and mean
// the same.
inline constexpr std::string_view automatic = "auto";

// A key of a section.
struct Key {
  std::string_view name;  // with a dot before it the map that it is in: "optimizer.kind"
  Type type;
  // What holds where the key is not given: a value, or words for what it depends on.
  std::variant<Value, std::string_view> unless_given;
  std::string_view meaning;  // goes on after the key; no full stop
};

// The key or the map that stands in the section itself.
[[nodiscard]] constexpr std::string_view top_of(const Key& key) {
  return key.name.substr(0, key.name.find('.'));
}

}  // namespace paceline::settings
