#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "models/settings/key.h"

// Writes the rules between keys of a table as JSON Schema.
namespace paceline::schema {

// JSON that is put together part by part; members of objects keep their order.
class Json {
 public:
  using List = std::vector<Json>;
  using Object = std::vector<std::pair<std::string, Json>>;
  using Content =
      std::variant<std::nullptr_t, bool, std::uint64_t, double, std::string, List, Object>;

  Json() = default;
  Json(std::initializer_list<Object::value_type> members) : content_(Object(members)) {}
  // A boolean, a number, a text, or a list of what is one.
  template <class T>
  requires(!std::is_same_v<T, Json>) Json(const T& value);  // NOLINT: implicit, as in {"type", 1}

  [[nodiscard]] static Json object() { return Json(std::initializer_list<Object::value_type>{}); }

  // The member of that name, made where there is none; of nothing, an object is made.
  Json& operator[](std::string_view name);
  void push_back(Json element) { as<List>().push_back(std::move(element)); }
  // Takes over the members of another object.
  void update(const Json& other) {
    for (const auto& [name, value] : other.members()) (*this)[name] = value;
  }

  [[nodiscard]] const List& elements() const { return std::get<List>(content_); }
  [[nodiscard]] const Object& members() const { return std::get<Object>(content_); }
  [[nodiscard]] const Content& content() const { return content_; }  // as JsonWriter takes it
  friend bool operator==(const Json& a, const Json& b) { return a.content_ == b.content_; }

 private:
  template <class T>
  T& as() {
    if (std::holds_alternative<std::nullptr_t>(content_)) content_ = T();
    return std::get<T>(content_);
  }

  Content content_;
};

template <class T>
requires(!std::is_same_v<T, Json>) Json::Json(const T& value) {
  if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    content_ = std::string(std::string_view(value));
  } else if constexpr (std::is_same_v<T, bool> || std::is_floating_point_v<T>) {
    content_ = value;
  } else if constexpr (std::is_integral_v<T>) {
    content_ = static_cast<std::uint64_t>(value);
  } else {
    content_ = List(value.begin(), value.end());
  }
}

inline Json& Json::operator[](std::string_view name) {
  Object& members = as<Object>();
  for (auto& [known, value] : members) {
    if (known == name) return value;
  }
  return members.emplace_back(name, Json()).second;
}

// What must hold of a section, unless an axis gives one of the keys, or a preset may.
struct Rule {
  std::vector<std::string> keys;  // of the section
  Json schema;                    // of the section; where `is_of_root` of the file
  bool is_of_root = false;
};

// Required keys, and those that need others beside them.
[[nodiscard]] std::vector<Rule> rules_of(std::span<const settings::Key> table,
                                         const std::string& section);

// As files spell a value of the key, typed as YAML types it.
[[nodiscard]] Json typed(const settings::Key& key, std::string_view spelled);

// That the value at the end of a path of maps is there.
[[nodiscard]] Json required_at(std::span<const std::string> path);
// What holds of it, where it is there.
[[nodiscard]] Json held_at(std::span<const std::string> path, Json schema);

[[nodiscard]] std::vector<std::string> parts_of(std::string_view path);

}  // namespace paceline::schema
