#include "scenarios/outcome/step_interval.h"

#include <cmath>

namespace paceline {

StepEnds ends_of(const IntervalParts& parts, const IntervalWidths& widths) {
  const auto rest = [&](double always, double by_share) {
    return parts.is_alone ? 0 : always + by_share * parts.share;
  };
  return {parts.compute_low,
          parts.compute_high,
          widths.calls * parts.calls_low,
          widths.calls * parts.calls_high,
          parts.links_low,
          parts.links_high,
          -std::hypot(rest(widths.faster, widths.faster_by_share), parts.waits_low),
          std::hypot(rest(widths.slower, widths.slower_by_share), parts.waits_high)};
}

double StepEnds::low() const {
  return -std::hypot(std::hypot(compute_low, calls_low), links_low, rest_low);
}
double StepEnds::high() const {
  return std::hypot(std::hypot(compute_high, calls_high), links_high, rest_high);
}

StepInterval to_interval(Seconds step, const StepEnds& ends) {
  return {step * std::exp(ends.low()), step * std::exp(ends.high())};
}

}  // namespace paceline
