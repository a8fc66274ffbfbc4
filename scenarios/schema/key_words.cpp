#include "scenarios/schema/key_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <variant>

#include "models/settings/settings.h"
#include "models/units/parse.h"

namespace paceline::schema {
namespace {

using settings::Key;

struct Taken {
  std::string operator()(settings::Flag) const { return "true or false"; }
  std::string operator()(settings::Count range) const {
    return range.most_key.empty() ? fmt::format("{} to {}", range.least, range.most)
                                  : fmt::format("{} to `{}`", range.least, range.most_key);
  }
  std::string operator()(settings::Number range) const {
    return fmt::format("{} to {}", range.least, range.most);
  }
  std::string operator()(settings::Fraction range) const {
    return fmt::format("{}% to {}%", range.least * 100, range.most * 100);
  }
  std::string operator()(settings::Time time) const {
    if (time.least > Seconds(0)) return "a time of " + to_text(time.least) + " or more";
    return time.above_zero ? "a time above 0" : "a time";
  }
  std::string operator()(settings::Bandwidth) const { return "a bandwidth"; }
  std::string operator()(settings::Size) const { return "a size"; }
  std::string operator()(settings::ComputeSpeed) const { return "a compute speed"; }
  std::string operator()(settings::Throughput) const { return "a throughput"; }
  std::string operator()(settings::OneOf known) const {
    return fmt::format("{}", fmt::join(known.words, ", "));
  }
  std::string operator()(settings::VersionNumber) const { return "a version"; }
  std::string operator()(settings::Text text) const { return std::string(text.what); }
  std::string operator()(settings::Structure some) const { return std::string(some.what); }
  std::string operator()(settings::Map) const { return ""; }
};

}  // namespace

std::string taken_by(const Key& key) { return std::visit(Taken{}, key.type); }

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

}  // namespace paceline::schema
