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
  never,           // of other formats than JSON
};

// `get` is a member, or what std::invoke takes of an object.
template <class Get, Presence when>
struct ObjectField {
  static constexpr Presence presence = when;

  std::string_view key;
  Get get;
};

template <class Get>
[[nodiscard]] constexpr ObjectField<Get, Presence::always> field(std::string_view key, Get get) {
  return {key, get};
}

template <class Get>
[[nodiscard]] constexpr ObjectField<Get, Presence::unless_default> optional_field(
    std::string_view key, Get get) {
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

// Fields of the same object that are an object of their own, where `has` is true of it.
template <class Has, Presence when, class... Rows>
struct Group {
  static constexpr Presence presence = when;

  std::string_view key;
  Has has;
  std::tuple<Rows...> rows;
};

template <class Has, class... Rows>
[[nodiscard]] constexpr auto group(std::string_view key, Has has, Rows... rows) {
  return Group<Has, Presence::always, Rows...>{key, has, {rows...}};
}

template <class Has, class... Rows>
[[nodiscard]] constexpr auto optional_group(std::string_view key, Has has, Rows... rows) {
  return Group<Has, Presence::unless_default, Rows...>{key, has, {rows...}};
}

template <class... Rows>
struct Fields {
  constexpr explicit Fields(Rows... of) : rows(of...) {}

  std::tuple<Rows...> rows;
};

template <class T>
concept HasFields = requires(const T* object) {
  fields_of(object);
};

// Calls `take` with each field of a type, or of a group, in order.
template <class... Rows, class Take>
constexpr void for_each_field(const std::tuple<Rows...>& rows, const Take& take) {
  std::apply([&](const Rows&... one) { (take(one), ...); }, rows);
}
template <HasFields T, class Take>
constexpr void for_each_field(const Take& take) {
  for_each_field(fields_of(static_cast<const T*>(nullptr)).rows, take);
}

}  // namespace paceline
