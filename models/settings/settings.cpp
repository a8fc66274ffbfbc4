#include "models/settings/settings.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "models/units/parse.h"

namespace paceline::settings {
namespace {

struct Spelled {
  const Type& type;

  std::string operator()(ByHand) const { return ""; }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::uint64_t value) const {
    const auto* word = std::get_if<OneOf>(&type);
    return word != nullptr ? std::string(word->words[value]) : std::to_string(value);
  }
  std::string operator()(double value) const {
    std::array<char, 32> text{};
    return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
  }
  std::string operator()(SamplesPerSecond value) const {
    return (*this)(value.value()) + " samples/s";
  }
  template <class Quantity>
  std::string operator()(Quantity value) const {
    return to_text(value);
  }
  std::string operator()(Version value) const {
    return '"' + std::to_string(value.major) + '.' + std::to_string(value.minor) + '"';
  }
};

}  // namespace

const Key& Settings::key_of(std::string_view name) const {
  const auto found = std::ranges::find(keys_, name, &Key::name);
  PACELINE_EXPECTS(found != keys_.end());
  return *found;
}

void Settings::set(std::string_view key, Value value) {
  given_.insert_or_assign(std::string(key_of(key).name), value);
}

bool Settings::is_given(std::string_view key) const { return given_.contains(key_of(key).name); }

const Needs* Settings::unmet(std::string_view key) const {
  const Needs& needs = key_of(key).needs;
  if (needs.key.empty()) return nullptr;
  if (const Needs* before = unmet(needs.key)) return before;
  const auto value = value_of(needs.key);
  const bool is_met =
      needs.values.front().empty()
          ? is_given(needs.key) || (!needs.or_key.empty() && is_given(needs.or_key))
          : value &&
                std::ranges::find(needs.values, settings::spelled(key_of(needs.key), *value)) !=
                    needs.values.end();
  return is_met ? nullptr : &needs;
}

std::optional<Value> Settings::value_of(std::string_view key) const {
  const Key& known = key_of(key);
  if (const auto given = given_.find(key); given != given_.end()) return given->second;
  if (const auto* value = std::get_if<Value>(&known.unless_given)) return *value;
  return std::nullopt;
}

std::optional<std::string> Settings::spelled(std::string_view key) const {
  const auto value = value_of(key);
  return value ? std::optional(settings::spelled(key_of(key), *value)) : std::nullopt;
}

std::string spelled(const Key& key, const Value& value) {
  return std::visit(Spelled{key.type}, value);
}

}  // namespace paceline::settings
