#include "models/settings/settings.h"

#include <algorithm>

namespace paceline::settings {

const Key& Settings::key_of(std::string_view name) const {
  const auto found = std::ranges::find(keys_, name, &Key::name);
  PACELINE_EXPECTS(found != keys_.end());
  return *found;
}

void Settings::set(std::string_view key, Value value) {
  given_.insert_or_assign(std::string(key_of(key).name), value);
}

bool Settings::is_given(std::string_view key) const { return given_.contains(key_of(key).name); }

std::optional<Value> Settings::value_of(std::string_view key) const {
  const Key& known = key_of(key);
  if (const auto given = given_.find(key); given != given_.end()) return given->second;
  if (const auto* value = std::get_if<Value>(&known.unless_given)) return *value;
  return std::nullopt;
}

}  // namespace paceline::settings
