#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "models/units/parse.h"
#include "scenarios/loader/document/reader.h"
#include "scenarios/loader/job/money.h"

// What the prices of jobs and catalogues have in common.
namespace paceline {

// A number from 0 to 1e15 and the word behind it. `hint` has a correct spelling of the number.
struct Amount {
  double number = 0;
  std::string unit, hint;
};
// `kind` names the quantity in messages; `unit` is one that hints give it, with a blank before it
// where it has one.
[[nodiscard]] std::variant<Amount, UnitError> parse_amount(std::string_view text,
                                                           std::string_view kind,
                                                           std::string_view unit);

// An amount of money and what it is for, "h" of "21.96 USD/h"; empty where `per` is.
struct AmountOfMoney {
  Money amount;
  std::string currency, per, hint;
};
// `per` is what hints say that it is for, with its slash: "/h"; empty: it is an amount alone.
[[nodiscard]] std::variant<AmountOfMoney, UnitError> parse_money(std::string_view text,
                                                                 std::string_view kind,
                                                                 std::string_view per);

// What such texts match (ECMA-262), for tables of keys: an amount, and one for a time or for
// energy.
inline constexpr std::string_view price_pattern = R"(^[ \t]*[0-9.eE+-]+[ \t]*[A-Z]{3}[ \t]*$)",
                                  price_of_time_pattern =
                                      R"(^[ \t]*[0-9.eE+-]+[ \t]*[A-Z]{3}/[a-z]+[ \t]*$)",
                                  price_of_energy_pattern =
                                      R"(^[ \t]*[0-9.eE+-]+[ \t]*[A-Z]{3}/kWh[ \t]*$)";

namespace loader {

// The value of a field by a parser of texts. Throws InputError where that has none.
template <class T>
[[nodiscard]] T parsed_by(Parsed<T> (*parse)(std::string_view), const Field& field) {
  const auto parsed = parse(field.text());
  if (const auto* error = std::get_if<UnitError>(&parsed)) field.fail(error->what, error->hint);
  return std::get<T>(parsed);
}

// The currency of all prices of a job: that of the first one.
class OneCurrency {
 public:
  // Throws InputError where the price is in another one than the first.
  void hold(const Field& price, const std::string& currency);

  [[nodiscard]] Money price(const Field& field);
  [[nodiscard]] MoneyPerSecond price_of_time(const Field& field);

  [[nodiscard]] const std::string& name() const { return name_; }  // empty: of no price yet

 private:
  std::string name_;
  Location first_;
};

}  // namespace loader
}  // namespace paceline
