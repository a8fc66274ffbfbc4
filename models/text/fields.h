#pragma once

#include <functional>
#include <string_view>
#include <tuple>

// The table of an object's fields, from which its JSON, the reader of that, and the rows of its
// document follow. It is a function beside what writes the object, in the namespace of its type:
//
//   constexpr auto fields_of(const Gain*) {
//     return Fields("gain", field("throughput", &Gain::value, "after the change over before"),
//                   field("low", &Gain::low, "its 90 % interval"), field("high", &Gain::high));
//   }
namespace paceline {

enum class Presence {
  always,          // an optional that is empty is null
  unless_default,  // left out where the value is an empty optional, or as its type is at first
};

// `get` is a member, or what std::invoke takes of an object. A field without a meaning is
// documented in the row before it.
template <class Get>
struct Field {
  std::string_view key;
  Get get;
  std::string_view meaning;
  Presence presence;
};

template <class Get>
[[nodiscard]] constexpr Field<Get> field(std::string_view key, Get get,
                                         std::string_view meaning = "") {
  return {key, get, meaning, Presence::always};
}

template <class Get>
[[nodiscard]] constexpr Field<Get> optional_field(std::string_view key, Get get,
                                                  std::string_view meaning = "") {
  return {key, get, meaning, Presence::unless_default};
}

// A text that is the same in all objects, such as the name of a format.
[[nodiscard]] constexpr auto constant(std::string_view key, std::string_view text,
                                      std::string_view meaning = "") {
  return field(
      key, [text](const auto&) { return text; }, meaning);
}

template <class... Gets>
struct Fields {
  // With a name the object has a table of its own in documents; else it is a part of what it is in.
  constexpr explicit Fields(std::string_view of, Field<Gets>... rows) : name(of), all(rows...) {}
  constexpr explicit Fields(Field<Gets>... rows) : all(rows...) {}

  std::string_view name;
  std::tuple<Field<Gets>...> all;
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
