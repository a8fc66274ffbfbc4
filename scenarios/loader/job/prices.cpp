#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "models/text/number.h"
#include "models/units/parse.h"
#include "scenarios/loader/job/catalogue.h"

namespace paceline {
namespace {

// 1234567 as "1,234,567".
std::string rounded(double value) {
  constexpr double whole_from = 99.995;  // from here on two decimals would say 100.00
  return value < whole_from ? fmt::format("{:.2f}", value) : in_thousands(value);
}

}  // namespace

std::string to_text(Money amount, std::string_view currency) {
  return fmt::format("{} {}", rounded(amount.value()), currency);
}

std::string to_text(MoneyPerSecond rate, std::string_view currency) {
  constexpr Seconds hour(3600);
  return fmt::format("{} {}/h", rounded((rate * hour).value()), currency);
}

namespace loader {
namespace {

bool is_currency(std::string_view word) {
  return word.size() == 3 &&
         std::ranges::all_of(word, [](char letter) { return letter >= 'A' && letter <= 'Z'; });
}

}  // namespace

Prices::Said Prices::read(const Field& field, std::string_view kind, std::string_view per) {
  constexpr double most = 1e15;  // sums and products of such stay exact to the cent, or nearly
  const std::string text = field.text(), example = fmt::format(" USD{}", per);
  const std::array examples{std::string_view(example)};
  const auto split = number_and_unit(text, kind, examples);
  if (const auto* error = std::get_if<UnitError>(&split)) field.fail(error->what, error->hint);
  const auto& [number, unit, hint] = std::get<NumberAndUnit>(split);
  if (number > most) field.fail(fmt::format("is more than {:.0e}", most), "");
  const std::size_t slash = unit.find('/');
  const std::string currency(unit.substr(0, slash));
  if (!is_currency(currency)) field.fail("has no currency of three capital letters", hint);
  const bool is_amount = slash == unit.npos;
  if (is_amount != per.empty()) {
    field.fail(per.empty() ? "is not an amount alone" : fmt::format("is not a {}", kind), hint);
  }
  if (currency_.empty()) {
    currency_ = currency;
    first_ = field.location();
  }
  if (currency != currency_) {
    field.fail(fmt::format("is in {}, and {} in {}", currency, to_text(first_), currency_),
               "write all prices in one currency");
  }
  return {Money(number), is_amount ? "" : std::string(unit.substr(slash + 1)), hint};
}

Money Prices::amount(const Field& field) { return read(field, "price", "").amount; }

MoneyPerSecond Prices::of_time(const Field& field) {
  const Said said = read(field, "price of time", "/h");
  const auto unit = parse_seconds("1 " + said.per);
  if (!std::holds_alternative<Seconds>(unit)) field.fail("has no unit of time", said.hint);
  return said.amount / std::get<Seconds>(unit);
}

MoneyPerJoule Prices::of_energy(const Field& field) {
  constexpr double joules_of_kwh = 3.6e6;
  const Said said = read(field, "price of energy", "/kWh");
  if (said.per != "kWh") field.fail("has no unit of energy", said.hint);
  return MoneyPerJoule(said.amount.value() / joules_of_kwh);
}

}  // namespace loader
}  // namespace paceline
