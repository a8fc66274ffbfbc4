#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <type_traits>

#include "models/text/fields.h"
#include "models/words.h"

namespace paceline {

// Writes one JSON value piece by piece, and keeps none of it. Texts become UTF-8, with U+FFFD for
// what is none; numbers read back equal, and those that are not finite are null.
//
// Within an object each value follows its key(); put() writes both. The caller closes what it
// opens: a value in an object without a key is a fault that the writer does not see.
class JsonWriter {
 public:
  static constexpr int compact = -1;

  // Each level indented by so many blanks; `compact`: everything in one line. To a stream a line
  // feed follows the value, and nothing is sure to be written before that.
  explicit JsonWriter(std::ostream& out, int indent = 1)
      : text_(own_), out_(&out), indent_(indent) {}
  explicit JsonWriter(std::string& out, int indent = compact) : text_(out), indent_(indent) {}
  JsonWriter(const JsonWriter&) = delete;
  JsonWriter& operator=(const JsonWriter&) = delete;
  ~JsonWriter() = default;

  void begin_object() { begin('{'); }
  void end_object() { end('}'); }
  void begin_list() { begin('['); }
  void end_list() { end(']'); }
  void key(std::string_view name);

  // null, a boolean, a number, a text, an enumeration with words, a quantity by its number, an
  // optional or pointer, a variant, a type with fields, what was read (`content`), a range of
  // these, or of names and these.
  template <class T>
  void value(const T& value);
  // Of an object: its fields alone, for a caller that adds others.
  template <HasFields T>
  void put_fields(const T& object);
  // JSON that is known to be some.
  void raw(std::string_view json);

  template <class T>
  void put(std::string_view name, const T& of) {
    key(name);
    value(of);
  }
  // `body()` writes what is between the ends.
  template <class Body>
  void object(const Body& body) {
    begin_object();
    body();
    end_object();
  }
  // `each(element)` writes a value.
  template <class Range, class Each>
  void list(const Range& range, const Each& each) {
    begin_list();
    for (const auto& element : range) each(element);
    end_list();
  }
  template <class Body>
  void put_object(std::string_view name, const Body& body) {
    key(name);
    object(body);
  }
  template <class Range, class Each>
  void put_list(std::string_view name, const Range& range, const Each& each) {
    key(name);
    list(range, each);
  }
  // `body()` writes the values.
  template <class Body>
  void put_list(std::string_view name, const Body& body) {
    key(name);
    begin_list();
    body();
    end_list();
  }

 private:
  template <class T, class Field>
  void put_field(const T& object, const Field& field);
  void begin(char bracket);
  void end(char bracket);
  // Before any value: a comma and a line of its own, but behind a key.
  void separate();
  void break_line();
  void written();  // after any value

  void whole(std::int64_t value);
  void whole(std::uint64_t value);
  void number(double value);
  void text(std::string_view value);

  std::string own_;
  std::string& text_;
  std::ostream* out_ = nullptr;
  int indent_;
  std::size_t depth_ = 0;
  bool is_first_ = true;  // of its object or list
  bool follows_key_ = false;
};

template <class T>
[[nodiscard]] bool is_default(const T& value) {
  if constexpr (requires { value.has_value(); }) {
    return !value.has_value();
  } else if constexpr (requires { value.empty(); }) {
    return value.empty();
  } else {
    return value == T{};
  }
}

template <HasFields T>
void JsonWriter::put_fields(const T& object) {
  for_each_field<T>([&](const auto& field) { put_field(object, field); });
}

template <class T, class Field>
void JsonWriter::put_field(const T& object, const Field& field) {
  if constexpr (requires { field.rows; }) {
    if (std::invoke(field.has, object)) {
      put_object(field.key, [&] {
        for_each_field(field.rows, [&](const auto& inner) { put_field(object, inner); });
      });
    } else if (field.presence == Presence::always) {
      put(field.key, nullptr);
    }
  } else if constexpr (field.presence != Presence::never) {
    const auto& of = std::invoke(field.get, object);
    if constexpr (field.presence == Presence::unless_default) {
      if (is_default(of)) return;
    }
    put(field.key, of);
  }
}

template <class T>
void JsonWriter::value(const T& value) {
  if constexpr (std::is_empty_v<T> || std::is_null_pointer_v<T>) {
    raw("null");
  } else if constexpr (std::is_same_v<T, bool>) {
    raw(value ? "true" : "false");
  } else if constexpr (std::is_floating_point_v<T>) {
    number(value);
  } else if constexpr (std::is_unsigned_v<T>) {
    whole(std::uint64_t{value});
  } else if constexpr (std::is_integral_v<T>) {
    whole(std::int64_t{value});
  } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    text(value);
  } else if constexpr (HasWords<T>) {
    text(paceline::to_text(value));
  } else if constexpr (HasFields<T>) {
    object([&] { put_fields(value); });
  } else if constexpr (std::is_pointer_v<T> || requires { value.has_value(); }) {
    value ? this->value(*value) : raw("null");
  } else if constexpr (requires { value.content(); }) {
    this->value(value.content());
  } else if constexpr (requires { value.valueless_by_exception(); }) {
    visit([&](const auto& held) { this->value(held); }, value);
  } else if constexpr (requires { std::string_view(value.begin()->first); }) {
    object([&] {
      for (const auto& [name, of] : value) put(name, of);
    });
  } else if constexpr (requires { value.begin(); }) {
    list(value, [&](const auto& element) { this->value(element); });
  } else {
    static_assert(
        requires { typename T::Representation; }, "has no form in JSON");
    this->value(value.value());
  }
}

}  // namespace paceline
