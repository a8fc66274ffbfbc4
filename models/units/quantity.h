#pragma once

#include <compare>
#include <type_traits>

namespace paceline {

// A number of one physical kind. Quantities of different kinds never add, compare or convert;
// the operators between kinds that physics allows are listed one by one in units.h.
// A multiplication by a plain number is offered for kinds held as a double only: counts stay exact.
template <class Tag, class Rep>
class Quantity {
 public:
  using Representation = Rep;

  constexpr Quantity() = default;
  template <class Number>
  requires std::is_arithmetic_v<Number>
  constexpr explicit Quantity(Number value) : value_(static_cast<Rep>(value)) {}

  [[nodiscard]] constexpr Rep value() const { return value_; }

  friend constexpr auto operator<=>(Quantity, Quantity) = default;
  friend constexpr Quantity operator+(Quantity a, Quantity b) {
    return Quantity(a.value_ + b.value_);
  }
  friend constexpr Quantity operator-(Quantity a, Quantity b) {
    return Quantity(a.value_ - b.value_);
  }
  constexpr Quantity& operator+=(Quantity other) { return *this = *this + other; }
  constexpr Quantity& operator-=(Quantity other) { return *this = *this - other; }

  friend constexpr Quantity operator*(Quantity q,
                                      double factor) requires std::is_floating_point_v<Rep> {
    return Quantity(q.value_ * factor);
  }
  friend constexpr Quantity operator*(double factor,
                                      Quantity q) requires std::is_floating_point_v<Rep> {
    return q * factor;
  }
  friend constexpr Quantity operator/(Quantity q,
                                      double divisor) requires std::is_floating_point_v<Rep> {
    return Quantity(q.value_ / divisor);
  }
  friend constexpr double operator/(Quantity a, Quantity b) requires std::is_floating_point_v<Rep> {
    return a.value_ / b.value_;
  }

 private:
  Rep value_{};
};

}  // namespace paceline
