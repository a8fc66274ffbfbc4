#include "scenarios/loader/job/amount.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace paceline {
namespace {

constexpr double amount_max = 1e15;  // sums and products of such stay exact to the cent, or nearly

bool is_currency(std::string_view word) {
  return word.size() == 3 &&
         std::ranges::all_of(word, [](char letter) { return letter >= 'A' && letter <= 'Z'; });
}

}  // namespace

std::variant<Amount, UnitError> parse_amount(std::string_view text, std::string_view kind,
                                             std::string_view unit) {
  constexpr std::string_view blanks = " \t";
  const auto trim = [&](std::string_view word) {
    word.remove_prefix(std::min(word.find_first_not_of(blanks), word.size()));
    return word.substr(0, word.find_last_not_of(blanks) + 1);
  };
  text = trim(text);
  Amount amount;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), amount.number);
  const std::string_view digits(text.data(), static_cast<std::size_t>(end - text.data()));
  const bool is_usable = error == std::errc{} && amount.number >= 0 && amount.number <= amount_max;
  const std::string hint = fmt::format("write {}{}", is_usable ? digits : "5", unit);
  if (error != std::errc{}) return UnitError{fmt::format("is not a {}", kind), hint};
  if (!is_usable) {
    return UnitError{fmt::format("is not a {} from 0 to {:.0e}", kind, amount_max), hint};
  }
  amount.unit = std::string(trim(text.substr(digits.size())));
  if (amount.unit.empty()) return UnitError{"has no unit", hint};
  amount.hint = hint;
  return amount;
}

std::variant<AmountOfMoney, UnitError> parse_money(std::string_view text, std::string_view kind,
                                                   std::string_view per) {
  const auto parsed = parse_amount(text, kind, fmt::format(" USD{}", per));
  if (const auto* error = std::get_if<UnitError>(&parsed)) return *error;
  const auto& amount = std::get<Amount>(parsed);
  const std::string_view unit = amount.unit;
  const std::size_t slash = unit.find('/');
  const std::string_view currency = unit.substr(0, slash);
  if (!is_currency(currency)) {
    return UnitError{"has no currency of three capital letters", amount.hint};
  }
  const bool is_per = slash != unit.npos;
  if (is_per == per.empty()) {
    return UnitError{per.empty() ? "is not an amount alone" : fmt::format("is not a {}", kind),
                     amount.hint};
  }
  return AmountOfMoney{Money(amount.number), std::string(currency),
                       is_per ? std::string(unit.substr(slash + 1)) : "", amount.hint};
}

namespace loader {

void OneCurrency::hold(const Field& price, const std::string& currency) {
  if (name_.empty()) {
    name_ = currency;
    first_ = price.location();
  }
  if (currency == name_) return;
  const std::string where = first_.line == 0 ? first_.file
                                             : first_.file + ":" + std::to_string(first_.line) +
                                                   ":" + std::to_string(first_.column);
  price.fail("is in " + currency + ", and " + where + " in " + name_,
             "write all prices in one currency");
}

Money OneCurrency::price(const Field& field) {
  const auto price = parsed_by(parse_price, field);
  hold(field, price.currency);
  return price.amount;
}

MoneyPerSecond OneCurrency::price_of_time(const Field& field) {
  const auto price = parsed_by(parse_price_of_time, field);
  hold(field, price.currency);
  return price.rate;
}

}  // namespace loader
}  // namespace paceline
