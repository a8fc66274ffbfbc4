#pragma once

#include <concepts>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include "models/contract.h"
#include "models/settings/key.h"

namespace paceline::settings {

// The values of a table's keys. Precondition of all members: a key of the table, and its type.
class Settings {
 public:
  Settings() = default;  // of no keys
  explicit Settings(std::span<const Key> keys) : keys_(keys) {}

  void set(std::string_view key, Value value);

  [[nodiscard]] bool is_given(std::string_view key) const;

  // What was given, or holds in its place; nullopt where that depends on other things. A count may
  // be taken as any unsigned type that holds its range, a word as its enumeration or as a text.
  template <class T>
  [[nodiscard]] std::optional<T> find(std::string_view key) const {
    const auto value = value_of(key);
    if (!value) return std::nullopt;
    if constexpr (HasWords<T>) {
      return words_of(T{})[std::get<std::uint64_t>(*value)].value;
    } else if constexpr (std::is_same_v<T, std::string_view>) {
      return std::get<OneOf>(key_of(key).type).words[std::get<std::uint64_t>(*value)];
    } else if constexpr (std::unsigned_integral<T> && !std::is_same_v<T, bool>) {
      return static_cast<T>(std::get<std::uint64_t>(*value));
    } else {
      return std::get<T>(*value);
    }
  }

  // Precondition: a value holds where none was given.
  template <class T>
  [[nodiscard]] T get(std::string_view key) const {
    const auto value = find<T>(key);
    PACELINE_EXPECTS(value.has_value());
    return *value;
  }

  // The same as a file spells it.
  [[nodiscard]] std::optional<std::string> spelled(std::string_view key) const;

  // What the key needs and does not have, or what that needs in turn; null: nothing.
  [[nodiscard]] const Needs* unmet(std::string_view key) const;

  [[nodiscard]] const Key& key_of(std::string_view name) const;

 private:
  [[nodiscard]] std::optional<Value> value_of(std::string_view key) const;

  std::span<const Key> keys_;
  std::map<std::string, Value, std::less<>> given_;
};

// As a file spells it. Precondition: the value is one of the key's type.
[[nodiscard]] std::string spelled(const Key& key, const Value& value);

}  // namespace paceline::settings
