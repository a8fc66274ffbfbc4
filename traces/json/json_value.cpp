#include "traces/json/json_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>

#include "traces/json/on_demand.h"
#include "traces/text/format_error.h"
#include "traces/text/lines.h"

namespace paceline::traces {
namespace {

constexpr std::array types_of_values{"null",   "boolean", "number", "number",
                                     "number", "string",  "array",  "object"};

bool is_beyond_bounds(std::string_view token) {
  while (!token.empty() && token.back() <= ' ') token.remove_suffix(1);
  double value = 0;
  const char* end = token.data() + token.size();
  const auto read = std::from_chars(token.data(), end, value);
  return read.ec == std::errc::result_out_of_range && read.ptr == end;
}

// A Value is simdjson's, or its document.
class Reader {
 public:
  explicit Reader(const char* what_to_give) : what_to_give_(what_to_give) {}

  template <class Value>
  JsonValue value_in(Value& in) {
    switch (in.type().value()) {
      case ondemand::json_type::array: return JsonValue(list_in(in));
      case ondemand::json_type::object: return JsonValue(object_in(in));
      case ondemand::json_type::string: return JsonValue(std::string(in.get_string().value()));
      case ondemand::json_type::number: return JsonValue(number_in(in));
      case ondemand::json_type::boolean: return JsonValue(in.get_bool().value());
      case ondemand::json_type::null:
        if (in.is_null()) return {};
    }
    throw simdjson::simdjson_error(simdjson::N_ATOM_ERROR);
  }

 private:
  template <class Value>
  JsonValue::List list_in(Value& in) {
    enter();
    JsonValue::List list;
    for (ondemand::value one : in.get_array()) list.push_back(value_in(one));
    --depth_;
    return list;
  }

  template <class Value>
  JsonValue::Object object_in(Value& in) {
    enter();
    JsonValue::Object object;
    for (ondemand::field field : in.get_object()) {
      std::string key(field.unescaped_key().value());
      object.emplace_back(std::move(key), value_in(field.value()));
    }
    --depth_;
    return object;
  }

  template <class Value>
  JsonValue::Content number_in(Value& in) {
    ondemand::number number;
    if (in.get_number().get(number) == simdjson::SUCCESS) {
      if (number.is_double()) return number.get_double();
      if (number.is_uint64()) return number.get_uint64();
      const std::int64_t value = number.get_int64();
      return value < 0 ? JsonValue::Content(value) : static_cast<std::uint64_t>(value);
    }
    double beyond_64_bits = 0;
    const auto error = in.get_double().get(beyond_64_bits);
    if (error == simdjson::SUCCESS) return beyond_64_bits;
    if (is_beyond_bounds(in.raw_json_token())) {
      throw FormatError(0, "has a number beyond all bounds", what_to_give_);
    }
    throw simdjson::simdjson_error(error);
  }

  // Each level is a call, here and where values are destroyed.
  void enter() {
    constexpr int depth_most = 1000;
    if (++depth_ > depth_most) throw FormatError(0, "is nested too deeply", what_to_give_);
  }

  const char* what_to_give_;
  int depth_ = 0;
};

}  // namespace

template <class T>
const T& JsonValue::expect(const char* type) const {
  if (const T* value = std::get_if<T>(&content_)) return *value;
  throw std::runtime_error(
      fmt::format("type must be {}, but is {}", type, types_of_values[content_.index()]));
}

bool JsonValue::truth() const { return expect<bool>("boolean"); }
const std::string& JsonValue::text() const { return expect<std::string>("string"); }
const JsonValue::List& JsonValue::list() const { return expect<List>("array"); }
const JsonValue::Object& JsonValue::object() const { return expect<Object>("object"); }

std::optional<double> JsonValue::if_number() const {
  if (const auto* value = std::get_if<double>(&content_)) return *value;
  if (const auto* value = std::get_if<std::int64_t>(&content_)) return static_cast<double>(*value);
  if (const auto value = if_whole()) return static_cast<double>(*value);
  return std::nullopt;
}

double JsonValue::number() const {
  const auto value = if_number();
  return value ? *value : expect<double>("number");
}

std::optional<std::uint64_t> JsonValue::if_whole() const {
  const auto* value = std::get_if<std::uint64_t>(&content_);
  return value == nullptr ? std::nullopt : std::optional(*value);
}

std::string_view JsonValue::text_or_empty() const {
  const auto* value = std::get_if<std::string>(&content_);
  return value == nullptr ? std::string_view() : *value;
}

const JsonValue::List& JsonValue::list_or_empty() const {
  static const List none;
  return is_list() ? list() : none;
}

const JsonValue* JsonValue::find(std::string_view key) const {
  const auto* object = std::get_if<Object>(&content_);
  if (object == nullptr) return nullptr;
  const auto found = std::find_if(object->rbegin(), object->rend(),
                                  [&](const auto& one) { return one.first == key; });
  return found == object->rend() ? nullptr : &found->second;
}

const JsonValue& JsonValue::operator[](std::string_view key) const {
  static const JsonValue none;
  const JsonValue* found = find(key);
  return found == nullptr ? none : *found;
}

std::string JsonValue::spelled() const {
  return std::visit(
      [](const auto& value) -> std::string {
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, std::nullptr_t>) {
          return "null";
        } else if constexpr (std::is_same_v<Value, std::string>) {
          return '"' + shown(value) + '"';
        } else if constexpr (std::is_arithmetic_v<Value>) {
          return fmt::format("{}", value);
        } else {
          return {};
        }
      },
      content_);
}

JsonValue parse_json(std::string_view text, const char* what_to_give) {
  JsonValue value;
  read_json(text, what_to_give,
            [&](ondemand::document& document) { value = Reader(what_to_give).value_in(document); });
  return value;
}

bool is_json(std::string_view text) {
  try {
    (void)parse_json(text, "");
    return true;
  } catch (const FormatError&) {
    return false;
  }
}

}  // namespace paceline::traces
