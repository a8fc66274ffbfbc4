#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace paceline::stats {

// The value that so many tenths of the others do not exceed, or the lower. Precondition: not empty.
template <class T>
[[nodiscard]] T quantile(std::vector<T> values, std::size_t tenths) {
  const std::size_t at = (values.size() - 1) * tenths / 10;
  const auto place = values.begin() + static_cast<std::ptrdiff_t>(at);
  std::ranges::nth_element(values, place);
  return *place;
}

// Of two in the middle the lower. Precondition: not empty.
template <class T>
[[nodiscard]] T lower_median(std::vector<T> values) {
  return quantile(std::move(values), 5);
}

}  // namespace paceline::stats
