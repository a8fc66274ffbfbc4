#include "scenarios/schema/key_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <variant>
#include <vector>

#include "models/settings/settings.h"
#include "models/units/parse.h"

namespace paceline::schema {
namespace {

using settings::Key;

// What std::from_chars takes, without a sign, infinities and what is no number.
constexpr std::string_view number_expression =
    R"((?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)";
constexpr std::string_view digit_above_zero =
    "(?=[^eE]*?[1-9])";  // a digit of its own before an exponent
constexpr std::string_view blanks = R"([ \t]*)";

// The parser's own hint for a number without a unit.
template <class T>
std::string hint_of(const Parsed<T>& bare) {
  return std::get<UnitError>(bare).hint;
}

std::string quantity(const std::vector<std::string_view>& units, bool is_above_zero) {
  std::vector<std::string> spelled;
  for (const std::string_view unit : units) spelled.push_back(escaped(unit));
  return fmt::format("^{0}{1}{2}{0}(?:{3}){0}$", blanks, is_above_zero ? digit_above_zero : "",
                     number_expression, fmt::join(spelled, "|"));
}

}  // namespace

std::string default_of(const Key& key) {
  if (const auto* words = std::get_if<std::string_view>(&key.unless_given)) {
    return std::string(*words);
  }
  return spelled(key, std::get<settings::Value>(key.unless_given));
}

std::string needs_of(const settings::Needs& needs, std::span<const Key> table) {
  if (needs.key.empty()) return "";
  const auto& [first, second] = needs.values;
  const auto needed = std::ranges::find(table, needs.key, &Key::name);
  const settings::Needs before = needed == table.end() ? settings::Needs{} : needed->needs;
  const std::string strategy = before.key == "strategy" ? needs_of(before, table) : "";
  const std::string_view other = second.empty() ? needs.or_key : second;
  return strategy + fmt::format("with `{}{}{}`{}; ", needs.key, first.empty() ? "" : ": ", first,
                                other.empty() ? "" : fmt::format(" or `{}`", other));
}

std::string description_of(const Key& key, std::span<const Key> table) {
  const std::string holds = default_of(key);
  std::string text = fmt::format("{}{}.", needs_of(key.needs, table), key.meaning);
  if (holds.starts_with(settings::required)) {
    text += fmt::format(" R{}.", holds.substr(1));
  } else if (!holds.empty() && holds != "none") {
    text += fmt::format(" Default: {}.", holds);
  }
  return text;
}

std::string escaped(std::string_view text) {
  constexpr std::string_view special = R"(.^$*+?()[]{}|\/)";
  std::string expression;
  for (const char letter : text) {
    if (special.find(letter) != special.npos) expression += '\\';
    expression += letter;
  }
  return expression;
}

Pattern pattern_of(const settings::Time& time) {
  const std::string hint = time.is_long ? "write 5h or 5min" : hint_of(parse_seconds("5"));
  return {quantity(unit_names().time, time.above_zero || time.least > Seconds(0)), hint};
}

Pattern pattern_of(const settings::Bandwidth&) {
  return {quantity(unit_names().bandwidth, true), hint_of(parse_bandwidth("5"))};
}

Pattern pattern_of(const settings::Size&) {
  return {quantity(unit_names().size, true), hint_of(parse_bytes("5"))};
}

Pattern pattern_of(const settings::ComputeSpeed&) {
  return {quantity(unit_names().speed, true), hint_of(parse_flops_per_second("5"))};
}

Pattern pattern_of(const settings::Throughput& throughput) {
  auto units = unit_names().throughput;
  if (throughput.or_tokens) units.emplace_back("tokens/s");
  return {quantity(units, true), hint_of(parse_throughput("5"))};
}

// A most of up to the whole has two digits, and 100 itself is the only one of three.
Pattern pattern_of(const settings::Fraction& part) {
  constexpr double all = 1;
  const std::string_view below = "[0-9]{1,2}(?:\\.[0-9]*)?";
  const std::string digits = part.most < all   ? std::string(below)
                             : part.most > all ? std::string(number_expression)
                                               : fmt::format("(?:100(?:\\.0*)?|{})", below);
  return {fmt::format("^{}{}%$", part.least > 0 ? digit_above_zero : "", digits),
          fmt::format("write {}% to {}%", part.least * 100, part.most * 100)};
}

Pattern pattern_of(const settings::VersionNumber&) {
  return {R"(^[0-9]+\.[0-9]+(?:\.[0-9].*|\+.*)?$)", "write \"2.1\""};
}

}  // namespace paceline::schema
