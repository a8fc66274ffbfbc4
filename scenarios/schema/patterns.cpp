#include "scenarios/schema/patterns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>
#include <variant>
#include <vector>

#include "models/units/parse.h"
#include "models/units/unit_names.h"

namespace paceline::schema {
namespace {

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
