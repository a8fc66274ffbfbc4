#pragma once

#include <string>
#include <string_view>

#include "models/units/units.h"

namespace paceline {

// In one currency, that of the job (PlannedJob::currency); never below 0.
using Money = Quantity<struct MoneyTag, double>;
using MoneyPerSecond = Quantity<struct MoneyPerSecondTag, double>;
using MoneyPerJoule = Quantity<struct MoneyPerJouleTag, double>;

constexpr Money operator*(MoneyPerSecond rate, Seconds time) {
  return Money(rate.value() * time.value());
}
constexpr MoneyPerSecond operator*(Watts power, MoneyPerJoule price) {
  return MoneyPerSecond(power.value() * price.value());
}
constexpr MoneyPerSecond operator/(Money money, Seconds time) {
  return MoneyPerSecond(money.value() / time.value());
}
constexpr Seconds operator/(Money money, MoneyPerSecond rate) {
  return Seconds(money.value() / rate.value());
}

// "1,234 USD" from 100 on, "12.30 USD" below. Rates: "21.96 USD/h".
[[nodiscard]] std::string to_text(Money amount, std::string_view currency);
[[nodiscard]] std::string to_text(MoneyPerSecond rate, std::string_view currency);

}  // namespace paceline
