#include "models/uncertain/response.h"

#include <algorithm>
#include <cmath>

#include "models/contract.h"

namespace paceline::uncertain {

Curve::Curve(std::vector<std::pair<double, double>> places) : places_(std::move(places)) {
  if (places_.empty()) return;
  const auto behind = std::ranges::partition_point(
      places_, [](const std::pair<double, double>& one) { return one.first < 0; });
  places_.insert(behind, {0.0, 0.0});
  for (std::size_t i = 1; i < places_.size(); ++i) {
    PACELINE_EXPECTS(places_[i - 1].first < places_[i].first);
  }
}

double Curve::operator()(double at) const {
  if (places_.size() < 2) return 0;
  const auto above = std::ranges::partition_point(
      places_, [&](const std::pair<double, double>& one) { return one.first < at; });
  const auto next = std::clamp(above, places_.begin() + 1, places_.end() - 1);
  const auto& [x, y] = *(next - 1);
  return y + (at - x) * (next->second - y) / (next->first - x);
}

Curve Curve::from(double place) const {
  const double here = (*this)(place);
  std::vector<std::pair<double, double>> places;
  for (const auto& [x, y] : places_) {
    if (x != place) places.emplace_back(x - place, y - here);
  }
  return Curve(std::move(places));
}

Curve Curve::through(const std::function<double(double)>& function) const {
  std::vector<std::pair<double, double>> places;
  for (const auto& [x, y] : places_) {
    if (x != 0) places.emplace_back(x, function(y));
  }
  return Curve(std::move(places));
}

double Response::bounded(Unknown quantity, double value) const {
  if (quantity == Unknown::overlap) return std::clamp(value, 0.0, 1.0);
  const double most = -least[static_cast<std::size_t>(quantity)];
  if (quantity == Unknown::host) return std::max(value, -most);
  if (quantity == Unknown::compute && value < 0) value *= place.shorter;
  if (quantity == Unknown::wrapper && value > 0) {
    const double cube = std::pow(value / rare_from, 3);
    return value + rare * cube / (1 + cube);
  }
  if (value >= 0 || std::isinf(most)) return value;
  return most > 0 ? -most * -std::expm1(value / most) : 0;
}

std::array<double, quantities> Response::bounded(std::array<double, quantities> values) const {
  for (std::size_t q = 0; q < quantities; ++q) {
    values[q] = bounded(static_cast<Unknown>(q), values[q]);
  }
  return values;
}

double Response::at(Unknown quantity, double value) const {
  return curves[static_cast<std::size_t>(quantity)](value);
}

double Response::fastest(const std::array<double, quantities>& values) const {
  const double compute = values[static_cast<std::size_t>(Unknown::compute)];
  return std::max(shortest, of_one_gpu + (place.compute_is_measured ? 0 : compute));
}

double Response::moved(const std::array<double, quantities>& values) const {
  double moved = 0;
  for (std::size_t q = 0; q < quantities; ++q) moved += at(static_cast<Unknown>(q), values[q]);
  return moved;
}

Response response_of_itself(const Place& place, Unknown quantity) {
  Response response{place};
  response.curves[static_cast<std::size_t>(quantity)] = Curve({{-1, -1}, {1, 1}});
  return response;
}

}  // namespace paceline::uncertain
