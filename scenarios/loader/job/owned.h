#pragma once

#include "scenarios/loader/document/section.h"
#include "scenarios/loader/job/amount.h"

namespace paceline {

using Watts = Quantity<struct WattsTag, double>;
using MoneyPerJoule = Quantity<struct MoneyPerJouleTag, double>;

constexpr MoneyPerSecond operator*(Watts power, MoneyPerJoule price) {
  return MoneyPerSecond(power.value() * price.value());
}

// A node that somebody has bought.
struct Owned {
  Money price;
  Seconds lifetime;          // above 0
  double in_use = 1;         // of its lifetime, above 0
  double upkeep_a_year = 0;  // of its price
  Watts power;               // while it is in use
  MoneyPerJoule electricity;
};

// Of a node in use: price (1 / lifetime + upkeep) / in_use + power x electricity.
[[nodiscard]] MoneyPerSecond price_in_use(const Owned& owned);

// "4.2kW".
[[nodiscard]] Parsed<Watts> parse_power(std::string_view text);

namespace loader {

[[nodiscard]] std::span<const settings::Key> owned_keys();
// Throws InputError.
[[nodiscard]] Owned read_owned(Section section, OneCurrency& currency);

}  // namespace loader
}  // namespace paceline
