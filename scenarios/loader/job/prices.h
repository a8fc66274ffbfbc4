#pragma once

#include <string>
#include <string_view>

#include "models/units/units.h"
#include "scenarios/document/reader.h"

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

namespace loader {

// Patterns of prices (ECMA-262) for tables of keys: an amount, and one for a time or for energy.
inline constexpr std::string_view price_pattern = R"(^[ \t]*[0-9.eE+-]+[ \t]*[A-Z]{3}[ \t]*$)",
                                  price_of_time_pattern =
                                      R"(^[ \t]*[0-9.eE+-]+[ \t]*[A-Z]{3}/[a-z]+[ \t]*$)",
                                  price_of_energy_pattern =
                                      R"(^[ \t]*[0-9.eE+-]+[ \t]*[A-Z]{3}/kWh[ \t]*$)";

// Reads the prices of a job and its catalogues: amounts with a currency of three capital letters,
// as ISO 4217 has them, that of the first one. Throws InputError for another one, for a bare number
// and for amounts below 0.
class Prices {
 public:
  [[nodiscard]] Money amount(const Field& field);             // "500 USD"
  [[nodiscard]] MoneyPerSecond of_time(const Field& field);   // "21.96 USD/h"
  [[nodiscard]] MoneyPerJoule of_energy(const Field& field);  // "0.15 USD/kWh"

  [[nodiscard]] const std::string& currency() const { return currency_; }  // empty: of no price yet

 private:
  struct Said {
    Money amount;
    std::string per, hint;
  };
  // `per` is what hints say that it is for, with its slash: "/h"; empty: it is an amount alone.
  [[nodiscard]] Said read(const Field& field, std::string_view kind, std::string_view per);

  std::string currency_;
  Location first_;
};

}  // namespace loader
}  // namespace paceline
