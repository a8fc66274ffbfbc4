#include "scenarios/predict/link_axes.h"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <string_view>
#include <variant>

namespace paceline {
namespace {

using sim::LinkNumbers;

// Axes that are numbers of links, in the order of LinkNumbers; whether more is less.
struct LinkAxis {
  std::string_view path, unit;
  bool is_a_rate;
};
constexpr std::array<LinkAxis, LinkNumbers::count> link_axes{{
    {"cluster.network.latency", "s", false},
    {"cluster.intra_node.latency", "s", false},
    {"cluster.network.bandwidth", "B/s", true},
    {"cluster.intra_node.bandwidth", "B/s", true},
}};

// Which number of a link an axis has; nullopt: none.
std::optional<std::size_t> number_of_axis(const AxisValue& axis) {
  for (std::size_t n = 0; n < link_axes.size(); ++n) {
    const auto* value = std::get_if<double>(&axis.value);
    const bool is_it = axis.path == link_axes[n].path && axis.unit == link_axes[n].unit;
    if (is_it && value != nullptr && *value > 0) return n;
  }
  return std::nullopt;
}

}  // namespace

bool is_of_links(const ScenarioFile::Axis& axis) {
  std::vector<double> values;
  for (const AxisValue& value : axis.values) {
    if (!number_of_axis(value)) return false;
    values.push_back(std::get<double>(value.value));
  }
  const auto is_sorted = [&](auto order) {
    return std::ranges::adjacent_find(values, std::not_fn(order)) == values.end();
  };
  return values.size() > 1 && (is_sorted(std::less()) || is_sorted(std::greater()));
}

LinkNumbers numbers_at(LinkNumbers numbers, const std::vector<AxisValue>& axes) {
  for (const AxisValue& axis : axes) {
    const auto n = number_of_axis(axis);
    if (!n) continue;
    const double value = std::get<double>(axis.value);
    numbers.values[*n] = link_axes[*n].is_a_rate ? 1 / value : value;
  }
  return numbers;
}

}  // namespace paceline
