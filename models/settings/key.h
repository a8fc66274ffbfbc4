#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <variant>

#include "models/units/units.h"
#include "models/words.h"

namespace paceline {
struct ShippedFile;
}

namespace paceline::settings {

// Of a library, "2.1".
struct Version {
  std::uint32_t major = 0, minor = 0;

  friend auto operator<=>(const Version&, const Version&) = default;
};

struct Key;
struct Form;

// What a key takes.
struct Flag {};  // true or false
// A whole number from `least` to `most`, or to what `most_key` of the section around this one has.
struct Count {
  std::uint64_t least, most;
  std::string_view most_key = {};
};
// A number without a unit, of a closed range.
struct Number {
  double least, most;
};
// A part of the whole, "20%" or 0.2, of a closed range.
struct Fraction {
  double least, most;
};
struct Time {
  bool above_zero = false;  // or 0
  Seconds least{0};         // where that is more
  bool is_long = false;     // hints name minutes and hours
};
struct Bandwidth {};       // above 0
struct Size {};            // above 0
struct ComputeSpeed {};    // above 0
struct Throughput {        // above 0
  bool or_tokens = false;  // in tokens/s as well, which is read by hand
};
// One of some words: its value is the index.
struct OneOf {
  std::span<const std::string_view> words;
};
struct VersionNumber {};
// Read by hand: a text, or a list or map that a table cannot say. `what` says what it may be; the
// rest is for the schema that editors check files with (scenarios/schema).
struct Text {
  std::string_view what;
  std::span<const ShippedFile> (*shipped)() = nullptr;  // it names one of these
  bool or_file = true;                                  // or a .yaml file
  std::string_view pattern = {};                        // what it matches (ECMA-262)
};
struct Structure {
  std::string_view what;
  std::span<const Form> (*forms)() = nullptr;  // it has one of these
};
// A map with a table of its own.
struct Map {
  std::span<const Key> (*keys)();
};

// The rows of a table that stands in a source, as Map and Structure take them: `Map{rows<table>}`.
template <const auto& table>
[[nodiscard]] constexpr auto rows() {
  return std::span<const typename std::remove_cvref_t<decltype(table)>::value_type>(table);
}

using Type = std::variant<Flag, Count, Number, Fraction, Time, Bandwidth, Size, ComputeSpeed,
                          Throughput, OneOf, VersionNumber, Text, Structure, Map>;

// What a value that is read by hand may be: a value of a type, a list of such that is not empty, or
// a map of such whose keys match a pattern (ECMA-262).
struct Form {
  enum class Of { one, list, map };

  Type type;
  Of of = Of::one;
  std::string_view keys = {};
};

// What is read by hand has no more of a value than that it was given.
struct ByHand {
  friend bool operator==(const ByHand&, const ByHand&) = default;
};
using Value = std::variant<ByHand, bool, std::uint64_t, double, Seconds, BytesPerSecond, Bytes,
                           FlopsPerSecond, SamplesPerSecond, Version>;

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

// Where these words stand for what holds unless a key is given, they may also be given.
inline constexpr std::string_view automatic = "auto";

// Instead of what holds: nothing does, so the key must be given wherever what it needs is there.
inline constexpr std::string_view required = "required";

// What must stand in the same section for a key to mean something.
struct Needs {
  std::string_view key;                         // empty: nothing
  std::array<std::string_view, 2> values = {};  // one of them, as files spell it; empty: any value
  // What completes the refusal after the key, and its hint; empty: "belongs to key: value".
  std::string_view refusal = {}, hint = {};
  std::string_view or_key = {};  // serves as well, with any value
};

// The keys of a section (or of a map in it, "network.transport") that a value was given for: a
// measured speed for a device, an efficiency for a transport. The value does not fit this run where
// a layer above its own (a file over its preset; a setting or a sweep over both) changes one.
struct Owners {
  std::array<std::string_view, 10> keys = {};
  // The same, but a setting or a sweep of these keys changes nothing: it asks about the same hosts
  // with a faster network.
  std::array<std::string_view, 2> named = {};
  // A value that does not fit is left out, and a line of the report says so; or the reader of the
  // section converts it to this run (Section::as_given_with); or the run is refused.
  enum class Then { left_out, carried, refused } then = Then::left_out;

  friend bool operator==(const Owners&, const Owners&) = default;
};

struct Key {
  std::string_view name;  // with a dot before it the map that it is in: "optimizer.kind"
  Type type;
  // What holds where the key is not given: a value, or words for what it depends on.
  std::variant<Value, std::string_view> unless_given;
  std::string_view meaning;       // goes on after the key; no full stop
  std::string_view example = {};  // of a required key, or one that is read by hand
  Needs needs = {};
  // It is required in a file that has none of these, keys of its section or paths from the root;
  // empty: what `unless_given` says. The reader of the section sees to it.
  std::array<std::string_view, 2> required_without = {};
  Owners owners = {};
  bool is_of_prediction = false;  // how a run is predicted, which changes nothing that was measured

  [[nodiscard]] constexpr Key of(const Owners& all) const {
    Key key = *this;
    key.owners = all;
    return key;
  }
  [[nodiscard]] constexpr Key of_prediction() const {
    Key key = *this;
    key.is_of_prediction = true;
    return key;
  }
};

// Whether these words are what the table says of a key that is not given.
[[nodiscard]] constexpr bool says(const Key& key, std::string_view words) {
  const auto* said = std::get_if<std::string_view>(&key.unless_given);
  return said != nullptr && *said == words;
}

// The key or the map that stands in the section itself.
[[nodiscard]] constexpr std::string_view top_of(const Key& key) {
  return key.name.substr(0, key.name.find('.'));
}

}  // namespace paceline::settings
