#include "scenarios/loader/axis_value.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "models/text/number.h"
#include "models/units/parse.h"

namespace paceline::loader {

AxisValue axis_value(const std::string& path, const Field& field) {
  const std::string text = field.text();
  if (const auto number = number_of<double>(text)) return {path, text, "1", *number};
  const auto try_unit = [&]<class T>(const Parsed<T>& parsed, const char* unit) {
    const auto* value = std::get_if<T>(&parsed);
    return value ? std::optional(AxisValue{path, text, unit, static_cast<double>(value->value())})
                 : std::nullopt;
  };
  if (auto value = try_unit(parse_seconds(text), "s")) return *value;
  if (auto value = try_unit(parse_bytes(text), "B")) return *value;
  if (auto value = try_unit(parse_bandwidth(text), "B/s")) return *value;
  if (auto value = try_unit(parse_throughput(text), "1/s")) return *value;
  return {path, text, "", text};
}

bool same(const AxisValue& a, const AxisValue& b) {
  const auto* x = std::get_if<double>(&a.value);
  const auto* y = std::get_if<double>(&b.value);
  if (x == nullptr || y == nullptr || a.unit != b.unit)
    return a.unit == b.unit && a.value == b.value;
  return std::abs(*x - *y) <= 1e-12 * std::max(std::abs(*x), std::abs(*y));
}

bool is_twice(const AxisValue& a, const AxisValue& b) {
  return a.unit == "1" && b.unit == "1" ? a.text == b.text : same(a, b);
}

std::string first_of(std::span<const AxisValue> values) {
  constexpr std::size_t most = 5;
  std::string all;
  for (std::size_t i = 0; i < std::min(values.size(), most); ++i) {
    all += (i == 0 ? "" : ", ") + values[i].text;
  }
  return values.size() > most ? all + ", ..." : all;
}

}  // namespace paceline::loader
