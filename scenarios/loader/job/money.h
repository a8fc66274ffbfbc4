#pragma once

#include <string>
#include <string_view>

#include "models/units/parse.h"

namespace paceline {

// In one currency, that of the job (PlannedJob::currency); never below 0.
using Money = Quantity<struct MoneyTag, double>;
using MoneyPerSecond = Quantity<struct MoneyPerSecondTag, double>;

constexpr Money operator*(MoneyPerSecond rate, Seconds time) {
  return Money(rate.value() * time.value());
}
constexpr MoneyPerSecond operator/(Money money, Seconds time) {
  return MoneyPerSecond(money.value() / time.value());
}
constexpr Seconds operator/(Money money, MoneyPerSecond rate) {
  return Seconds(money.value() / rate.value());
}

// An amount with its currency: three capital letters, as ISO 4217 has them.
struct Price {
  Money amount;
  std::string currency;
};
struct PriceOfTime {
  MoneyPerSecond rate;
  std::string currency;
};

// "500 USD", "1.2 USD"; a bare number is an error, as are amounts below 0.
[[nodiscard]] Parsed<Price> parse_price(std::string_view text);
// "21.96 USD/h".
[[nodiscard]] Parsed<PriceOfTime> parse_price_of_time(std::string_view text);

// "1,234 USD" from 100 on, "12.30 USD" below. Rates: "21.96 USD/h".
[[nodiscard]] std::string to_text(Money amount, std::string_view currency);
[[nodiscard]] std::string to_text(MoneyPerSecond rate, std::string_view currency);

}  // namespace paceline
