#pragma once

#include <span>
#include <string>

#include "models/settings/key.h"

// Puts tables of keys into words, for documents, comments and descriptions.
namespace paceline::schema {

// What holds where it is not given, as a file spells it or in words; may be empty.
[[nodiscard]] std::string default_of(const settings::Key& key);

// "with `kind: pcie`; ", or empty. Precondition: the table has what the key needs.
[[nodiscard]] std::string needs_of(const settings::Needs& needs,
                                   std::span<const settings::Key> table);

// A sentence on the key: what it needs, means, and what holds unless it is given.
[[nodiscard]] std::string description_of(const settings::Key& key,
                                         std::span<const settings::Key> table);

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
