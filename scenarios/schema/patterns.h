#pragma once

#include <string>

#include "models/settings/key.h"

// What texts of quantities match: regular expressions of ECMA-262, as JSON Schema takes them. They
// take the spellings of the units' own table (models/units/parse.h).
namespace paceline::schema {

// A pattern, and what to write where a text does not match it.
struct Pattern {
  std::string expression, hint;
};

[[nodiscard]] Pattern pattern_of(const settings::Time& time);
[[nodiscard]] Pattern pattern_of(const settings::Bandwidth& bandwidth);
[[nodiscard]] Pattern pattern_of(const settings::Size& size);
[[nodiscard]] Pattern pattern_of(const settings::ComputeSpeed& speed);
[[nodiscard]] Pattern pattern_of(const settings::Throughput& throughput);
// Of a part of the whole with its sign, "20%"; a bare number is a number.
[[nodiscard]] Pattern pattern_of(const settings::Fraction& part);
[[nodiscard]] Pattern pattern_of(const settings::VersionNumber& version);

// The text itself, where it stands in an expression.
[[nodiscard]] std::string escaped(std::string_view text);

}  // namespace paceline::schema
