#include "scenarios/loader/job/money.h"

#include <fmt/format.h>

#include <variant>

#include "models/text/number.h"
#include "scenarios/loader/job/amount.h"

namespace paceline {
namespace {

// 1234567 as "1,234,567".
std::string rounded(double value) {
  constexpr double whole_from = 99.995;  // from here on two decimals would say 100.00
  return value < whole_from ? fmt::format("{:.2f}", value) : in_thousands(value);
}

}  // namespace

Parsed<Price> parse_price(std::string_view text) {
  const auto parsed = parse_money(text, "price", "");
  if (const auto* error = std::get_if<UnitError>(&parsed)) return *error;
  const auto& money = std::get<AmountOfMoney>(parsed);
  return Price{money.amount, money.currency};
}

Parsed<PriceOfTime> parse_price_of_time(std::string_view text) {
  const auto parsed = parse_money(text, "price of time", "/h");
  if (const auto* error = std::get_if<UnitError>(&parsed)) return *error;
  const auto& money = std::get<AmountOfMoney>(parsed);
  const auto unit = parse_seconds("1 " + money.per);
  if (!std::holds_alternative<Seconds>(unit)) return UnitError{"has no unit of time", money.hint};
  return PriceOfTime{money.amount / std::get<Seconds>(unit), money.currency};
}

std::string to_text(Money amount, std::string_view currency) {
  return fmt::format("{} {}", rounded(amount.value()), currency);
}

std::string to_text(MoneyPerSecond rate, std::string_view currency) {
  constexpr Seconds hour(3600);
  return fmt::format("{} {}/h", rounded((rate * hour).value()), currency);
}

}  // namespace paceline
