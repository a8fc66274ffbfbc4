#pragma once

#include <cstdint>
#include <exception>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "models/units/quantity.h"
#include "models/words.h"

// JSON as a tree of values, for texts that fit memory several times (`on_demand.h`: larger ones).
// What a value is not, or lacks, throws std::runtime_error that names its key or place.
namespace paceline::traces {

template <class T>
constexpr bool is_quantity = false;
template <class Tag, class Rep>
constexpr bool is_quantity<Quantity<Tag, Rep>> = true;

class JsonValue {
 public:
  using List = std::vector<JsonValue>;
  using Object = std::vector<std::pair<std::string, JsonValue>>;  // in the text's order
  // A whole number is unsigned unless it is negative, and a double beyond 64 bits.
  using Content = std::variant<std::nullptr_t, bool, std::uint64_t, std::int64_t, double,
                               std::string, List, Object>;

  JsonValue() = default;
  explicit JsonValue(Content content) : content_(std::move(content)) {}

  [[nodiscard]] const Content& content() const { return content_; }  // as JsonWriter takes it
  [[nodiscard]] bool is_null() const { return holds<std::nullptr_t>(); }
  [[nodiscard]] bool is_object() const { return holds<Object>(); }
  [[nodiscard]] bool is_list() const { return holds<List>(); }

  // Throw where it is none: "type must be string, but is null".
  [[nodiscard]] bool truth() const;
  [[nodiscard]] double number() const;
  [[nodiscard]] const std::string& text() const;
  [[nodiscard]] const List& list() const;
  [[nodiscard]] const Object& object() const;

  // A scalar: truth, a number, a text, a quantity (SI), or a word of an enumeration. Whole numbers
  // fit: -1, 1.5 and 1e300 are errors.
  template <class T>
  [[nodiscard]] T get() const;

  // For readers that take what is there.
  [[nodiscard]] std::optional<double> if_number() const;
  [[nodiscard]] std::optional<std::uint64_t> if_whole() const;  // of 0 or more
  [[nodiscard]] std::string_view text_or_empty() const;
  [[nodiscard]] const List& list_or_empty() const;

  // The member of an object, the last of several; nullptr where it has none or is no object.
  [[nodiscard]] const JsonValue* find(std::string_view key) const;
  // The same; a null where there is none.
  [[nodiscard]] const JsonValue& operator[](std::string_view key) const;

  // A scalar as a text spells it, for messages; empty for lists and objects.
  [[nodiscard]] std::string spelled() const;

 private:
  template <class T>
  [[nodiscard]] bool holds() const {
    return std::holds_alternative<T>(content_);
  }
  template <class T>
  [[nodiscard]] const T& expect(const char* type) const;

  Content content_;
};

// Throws FormatError, with the byte in its message, for what is not JSON, is cut off, is nested
// deeper than 1000, or has a number beyond all bounds; `what_to_give` is its hint.
[[nodiscard]] JsonValue parse_json(std::string_view text, const char* what_to_give);
[[nodiscard]] bool is_json(std::string_view text);

// What `decode` makes of the value of a key that must be there. What is wrong names the key.
template <class Decode>
auto member(const JsonValue& in, std::string_view key, const Decode& decode) {
  if (!in.is_object()) throw std::runtime_error("is no object");
  const JsonValue* value = in.find(key);
  if (value == nullptr) throw std::runtime_error("has no \"" + std::string(key) + "\"");
  try {
    return decode(*value);
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(std::string(key) + ": " + error.what());
  }
}

template <class T>
T member(const JsonValue& in, std::string_view key) {
  return member(in, key, [](const JsonValue& value) { return value.get<T>(); });
}

// What `decode` makes of each element of a list. What is wrong names its place.
template <class Decode>
auto decoded_list(const JsonValue& in, const Decode& decode) {
  if (!in.is_list()) throw std::runtime_error("is no list");
  std::vector<decltype(decode(in))> all;
  all.reserve(in.list().size());
  for (const JsonValue& element : in.list()) {
    try {
      all.push_back(decode(element));
    } catch (const std::runtime_error& error) {
      throw std::runtime_error("[" + std::to_string(all.size()) + "]: " + error.what());
    }
  }
  return all;
}

template <class T>
T JsonValue::get() const {
  if constexpr (HasWords<T>) {
    if (const auto value = from_text<T>(text())) return *value;
    throw std::runtime_error("unknown word " + spelled());
  } else if constexpr (is_quantity<T>) {
    return T(get<typename T::Representation>());
  } else if constexpr (std::is_same_v<T, bool>) {
    return truth();
  } else if constexpr (std::is_unsigned_v<T>) {
    const auto value = if_whole();
    if (value && *value <= std::numeric_limits<T>::max()) return static_cast<T>(*value);
    const std::string what = "not a whole number that fits", is = spelled();
    throw std::runtime_error(is.empty() ? what : what + ": " + is);
  } else if constexpr (std::is_same_v<T, double>) {
    return number();
  } else {
    static_assert(std::is_same_v<T, std::string>);
    return text();
  }
}

}  // namespace paceline::traces
