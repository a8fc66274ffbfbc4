#pragma once

#include <cstddef>
#include <optional>
#include <tuple>

#include "traces/json/values.h"

// Structs as JSON objects: `fields<Struct>` lists keys and members once, and both ways follow from
// it. A member that is optional has its key where it has a value.
//
//   template <>
//   constexpr auto fields<Job> = std::tuple{field("nodes", &Job::nodes)};
namespace paceline::traces {

template <class Struct>
constexpr std::nullptr_t fields = nullptr;

template <class T>
nlohmann::json encode(const T& value);
template <class T>
T decode(const nlohmann::json& in);

template <class T>
constexpr bool is_list = false;
template <class T>
constexpr bool is_list<std::vector<T>> = true;

enum class Key {
  required,
  may_lack,        // of what was written before there was such a key
  unless_default,  // a member that is as it is by default has none
};

template <Key kind, class Struct, class Value>
struct Field {
  const char* key;
  Value Struct::*member;

  void add(const Struct& from, nlohmann::json& out) const {
    const Value& value = from.*member;
    if constexpr (kind == Key::unless_default) {
      if (value == Value{}) return;
    }
    out[key] = encode(value);
  }
  void take(const nlohmann::json& in, Struct& to) const {
    if (kind == Key::required || in.contains(key)) {
      to.*member = traces::member(in, key, decode<Value>);
    }
  }
};

template <Key kind, class Struct, class Value>
struct Field<kind, Struct, std::optional<Value>> {
  const char* key;
  std::optional<Value> Struct::*member;

  void add(const Struct& from, nlohmann::json& out) const {
    if (from.*member) out[key] = encode(*(from.*member));
  }
  void take(const nlohmann::json& in, Struct& to) const {
    if (in.contains(key)) to.*member = traces::member(in, key, decode<Value>);
  }
};

template <Key kind = Key::required, class Struct, class Value>
constexpr Field<kind, Struct, Value> field(const char* key, Value Struct::*member) {
  return {key, member};
}

// Precondition: `out` is an object. A null whose first key finds no memory is left as an object
// without a map, which its destructor reads (nlohmann-json 3.11.2, operator[]).
template <class T>
void add_fields(const T& from, nlohmann::json& out) {
  std::apply([&](const auto&... one) { (one.add(from, out), ...); }, fields<T>);
}

template <class T>
T decode_fields(const nlohmann::json& in) {
  if (!in.is_object()) throw std::runtime_error("is no object");
  T value{};
  std::apply([&](const auto&... one) { (one.take(in, value), ...); }, fields<T>);
  return value;
}

// A struct that is more than its fields specializes both.
template <class T>
nlohmann::json encode(const T& value) {
  nlohmann::json out;
  if constexpr (HasWords<T>) {
    out = paceline::to_text(value);
  } else if constexpr (is_list<T>) {
    out = nlohmann::json::array();
    for (const auto& one : value) out.push_back(encode(one));
  } else if constexpr (std::is_null_pointer_v<decltype(fields<T>)>) {
    out = value;
  } else {
    out = nlohmann::json::object();
    add_fields(value, out);
  }
  return out;
}

template <class T>
T decode(const nlohmann::json& in) {
  if constexpr (HasWords<T>) {
    return parse_word<T>(in);
  } else if constexpr (is_list<T>) {
    return decoded_list(in, decode<typename T::value_type>);
  } else if constexpr (!std::is_null_pointer_v<decltype(fields<T>)>) {
    return decode_fields<T>(in);
  } else if constexpr (std::is_unsigned_v<T> && !std::is_same_v<T, bool>) {
    return whole<T>(in);
  } else {
    return in.get<T>();
  }
}

}  // namespace paceline::traces
