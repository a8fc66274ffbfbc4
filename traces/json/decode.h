#pragma once

#include <optional>
#include <type_traits>
#include <vector>

#include "models/text/fields.h"
#include "traces/json/json_value.h"

// Reads what JsonWriter writes of a type: an object by the table of its fields, a list, a scalar.
namespace paceline::traces {

template <class T>
[[nodiscard]] T decode(const JsonValue& in);

template <class T>
constexpr bool is_list = false;
template <class T>
constexpr bool is_list<std::vector<T>> = true;

template <class T>
constexpr bool is_optional = false;
template <class T>
constexpr bool is_optional<std::optional<T>> = true;

// Fields that are members; what a table computes is only written.
template <HasFields T>
void decode_fields(const JsonValue& in, T& to) {
  if (!in.is_object()) throw std::runtime_error("is no object");
  for_each_field<T>([&](const auto& field) {
    if constexpr (requires { to.*field.get; }) {
      auto& value = to.*field.get;
      const bool may_be_missing = field.presence == Presence::unless_default;
      if (may_be_missing && in.find(field.key) == nullptr) return;
      value = member(in, field.key, [&](const JsonValue& found) {
        if (may_be_missing && found.is_null()) throw std::runtime_error("is null");
        return decode<std::decay_t<decltype(value)>>(found);
      });
    }
  });
}

template <class T>
T decode(const JsonValue& in) {
  if constexpr (HasFields<T>) {
    T value{};
    decode_fields(in, value);
    return value;
  } else if constexpr (is_list<T>) {
    return decoded_list(in, decode<typename T::value_type>);
  } else if constexpr (is_optional<T>) {
    return in.is_null() ? T() : decode<typename T::value_type>(in);
  } else {
    return in.get<T>();
  }
}

}  // namespace paceline::traces
