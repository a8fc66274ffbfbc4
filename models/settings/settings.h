#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "models/contract.h"
#include "models/settings/key.h"

namespace paceline::settings {

// The values of a table's keys. Precondition of all members: the table has the key, and its values
// are of that type.
class Settings {
 public:
  Settings() = default;  // of no keys
  explicit Settings(std::span<const Key> keys) : keys_(keys) {}

  void set(std::string_view key, Value value);

  [[nodiscard]] bool is_given(std::string_view key) const;

  // What was given, or holds in its place; nullopt where that depends on other things.
  template <class T>
  [[nodiscard]] std::optional<T> find(std::string_view key) const {
    const auto value = value_of(key);
    return value ? std::optional(std::get<T>(*value)) : std::nullopt;
  }

  // Precondition: a value holds where none was given.
  template <class T>
  [[nodiscard]] T get(std::string_view key) const {
    const auto value = find<T>(key);
    PACELINE_EXPECTS(value.has_value());
    return *value;
  }

  // Of a key that takes the words of an enumeration.
  template <HasWords Enum>
  [[nodiscard]] Enum word(std::string_view key) const {
    return words_of(Enum{})[get<std::uint64_t>(key)].value;
  }

 private:
  [[nodiscard]] const Key& key_of(std::string_view name) const;
  [[nodiscard]] std::optional<Value> value_of(std::string_view key) const;

  std::span<const Key> keys_;
  std::map<std::string, Value, std::less<>> given_;
};

}  // namespace paceline::settings
