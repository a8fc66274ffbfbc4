#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "models/units/parse.h"
#include "models/words.h"
#include "scenarios/errors.h"

// Values of options of the command line that CLI11 does not know. All throw InputError.
namespace paceline::cli {

// With a unit: `parse` is one of models/units/parse.h.
template <class T>
T quantity(const char* option, const std::string& text, Parsed<T> (*parse)(std::string_view)) {
  const auto parsed = parse(text);
  if (const auto* error = std::get_if<UnitError>(&parsed)) {
    throw InputError({option}, fmt::format("\"{}\" {}", text, error->what), error->hint);
  }
  return std::get<T>(parsed);
}

inline BytesPerSecond positive_bandwidth(const char* option, const std::string& text) {
  const BytesPerSecond value = quantity(option, text, parse_bandwidth);
  if (value <= BytesPerSecond(0)) throw InputError({option}, "is not above zero", "");
  return value;
}

// --min, and each size `factor` times the one before up to --max.
inline std::vector<Bytes> sizes_between(Bytes least, const std::string& most_text,
                                        std::uint64_t factor) {
  const Bytes most = quantity("--max", most_text, parse_bytes);
  std::vector<Bytes> sizes;
  for (Bytes size = least; size <= most; size = size * factor) {
    sizes.push_back(size);
    if (size.value() > most.value() / factor) break;  // the next one might not fit 64 bits
  }
  if (sizes.empty()) throw InputError({"--max"}, "is below --min", "");
  return sizes;
}

// Refuses the first of these options, by name and value, that is given: it would do nothing.
inline void refuse_given(const std::string& why,
                         const std::vector<std::pair<const char*, std::string>>& options) {
  for (const auto& [name, value] : options) {
    if (!value.empty()) throw InputError({name}, "has no effect: " + why, "leave it out");
  }
}

template <class T>
using Words = std::vector<std::pair<std::string_view, T>>;

// One of some words; the message lists them.
template <class T>
T word(const char* option, const std::string& text, const Words<T>& known) {
  std::string all;
  for (const auto& [name, value] : known) {
    if (name == text) return value;
    all += (all.empty() ? "" : ", ") + std::string(name);
  }
  throw InputError({option}, fmt::format("\"{}\" is not known", text), "known: " + all);
}

// One of an enumeration's.
template <HasWords Enum>
Enum word(const char* option, const std::string& text) {
  Words<Enum> known;
  for (const auto& [value, name] : words_of(Enum{})) known.emplace_back(name, value);
  return word(option, text, known);
}

}  // namespace paceline::cli
