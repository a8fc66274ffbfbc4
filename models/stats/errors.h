#pragma once

#include <optional>
#include <span>

#include "models/text/fields.h"

namespace paceline::stats {

struct ErrorSummary {
  std::size_t points = 0;
  double mean_absolute = 0;
  double median_absolute = 0;
  double max_absolute = 0;
  double bias = 0;  // the mean with its sign
};

// null: there is no point that it could be of.
template <auto figure>
constexpr auto of_points = [](const auto& summary) {
  return summary.points == 0 ? std::nullopt : std::optional(summary.*figure);
};

constexpr auto fields_of(const ErrorSummary*) {
  return Fields(field("points", &ErrorSummary::points),
                field("mean_absolute_percent", of_points<&ErrorSummary::mean_absolute>),
                field("median_absolute_percent", of_points<&ErrorSummary::median_absolute>),
                field("max_absolute_percent", of_points<&ErrorSummary::max_absolute>),
                field("bias_percent", of_points<&ErrorSummary::bias>));
}

// Of signed errors, all in one unit. All zero for no errors.
[[nodiscard]] ErrorSummary summarise(std::span<const double> errors);

// The middle value, or the mean of the two middle ones. Precondition: not empty.
[[nodiscard]] double median(std::span<const double> values);

// The median absolute deviation from the median. Precondition: not empty.
[[nodiscard]] double median_absolute_deviation(std::span<const double> values);

}  // namespace paceline::stats
