#pragma once

#include <string>
#include <string_view>

#include "scenarios/document/reader.h"
#include "scenarios/loader/job/money.h"

namespace paceline::loader {

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

}  // namespace paceline::loader
