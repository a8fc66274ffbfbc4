#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <tuple>

// The table of an object's fields, from which its JSON follows, and the reader of that. It is a
// function in the namespace of the object's type, beside what writes it:
//
//   constexpr auto fields_of(const Gain*) {
//     return Fields(field("throughput", &Gain::value), field("low", &Gain::low));
//   }
namespace paceline {

enum class Presence {
  always,          // an optional that is empty is null
  unless_default,  // left out where the value is an empty optional, or as its type is at first
};

// `get` is a member, or what std::invoke takes of an object.
template <class Get, Presence when>
struct Field {
  static constexpr Presence presence = when;

  std::string_view key;
  Get get;
};

template <class Get>
[[nodiscard]] constexpr Field<Get, Presence::always> field(std::string_view key, Get get) {
  return {key, get};
}

template <class Get>
[[nodiscard]] constexpr Field<Get, Presence::unless_default> optional_field(std::string_view key,
                                                                            Get get) {
  return {key, get};
}

// A text that is the same in all objects, such as the name of a format.
[[nodiscard]] constexpr auto constant(std::string_view key, std::string_view text) {
  return field(key, [text](const auto&) { return text; });
}

// What the members lead to, one after the other; nothing where an optional on the way is empty.
template <auto first, auto... others>
constexpr auto at = [](const auto& object) {
  const auto& found = std::invoke(first, object);
  if constexpr (sizeof...(others) == 0) {
    return found;
  } else if constexpr (requires { found.has_value(); }) {
    using Value = decltype(at<others...>(*found));
    if constexpr (requires(Value value) { value.has_value(); }) {
      return found ? at<others...>(*found) : Value();
    } else {
      return found ? std::optional<Value>(at<others...>(*found)) : std::nullopt;
    }
  } else {
    return at<others...>(found);
  }
};

// A text, and nothing where it is empty.
template <auto text>
constexpr auto unless_empty = [](const auto& object) {
  const std::string_view found = std::invoke(text, object);
  return found.empty() ? std::nullopt : std::optional(found);
};

template <class... Rows>
struct Fields {
  constexpr explicit Fields(Rows... rows) : all(rows...) {}

  std::tuple<Rows...> all;
};

template <class T>
concept HasFields = requires(const T* object) {
  fields_of(object);
};

// Calls `take` with each field of a type, in order.
template <HasFields T, class Take>
constexpr void for_each_field(const Take& take) {
  std::apply([&](const auto&... one) { (take(one), ...); },
             fields_of(static_cast<const T*>(nullptr)).all);
}

}  // namespace paceline
