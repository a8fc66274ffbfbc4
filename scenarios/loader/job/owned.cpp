#include "scenarios/loader/job/owned.h"

#include <array>

namespace paceline {
namespace {

constexpr Seconds year(31557600);  // 365.25 days, as models/units/parse has it
constexpr double joules_of_kwh = 3.6e6;

}  // namespace

MoneyPerSecond price_in_use(const Owned& owned) {
  const MoneyPerSecond standing =
      owned.price / owned.lifetime + owned.upkeep_a_year * (owned.price / year);
  return standing / owned.in_use + owned.power * owned.electricity;
}

Parsed<Watts> parse_power(std::string_view text) {
  const auto parsed = parse_amount(text, "power", "kW");
  if (const auto* error = std::get_if<UnitError>(&parsed)) return *error;
  const auto& amount = std::get<Amount>(parsed);
  if (amount.unit == "W") return Watts(amount.number);
  if (amount.unit == "kW") return Watts(1e3 * amount.number);
  if (amount.unit == "MW") return Watts(1e6 * amount.number);
  return UnitError{"has no unit of power", "known units: W kW MW"};
}

namespace loader {
namespace {

using settings::Fraction;
using settings::Key;
using settings::required;
using settings::Text;
using settings::Time;

constexpr std::array owned_table{
    Key{"price", Text{.what = "a price", .pattern = price_pattern}, required,
        "of a node, with what it needs of a network", "42000 USD"},
    Key{"lifetime", Time{.above_zero = true, .is_long = true}, required,
        "after which it is worth nothing", "4y"},
    Key{"in_use", Fraction{0.01, 1}, required, "part of its lifetime in which it is used", "80%"},
    Key{"upkeep", Fraction{0, 1}, 0.0, "of its price a year: space, people, repairs"},
    Key{"power", Text{.what = "a power", .pattern = R"(^\s*[0-9.eE+-]+\s*[kM]?W\s*$)"},
        "not counted", "of a node in use, with its cooling", "4.2kW"},
    Key{"electricity",
        Text{.what = "a price of energy", .pattern = price_of_energy_pattern},
        required,
        "what its power costs",
        "0.15 USD/kWh",
        {"power"}},
};

MoneyPerJoule electricity_of(const Field& field, OneCurrency& currency) {
  const auto parsed = parse_money(field.text(), "price of energy", "/kWh");
  if (const auto* error = std::get_if<UnitError>(&parsed)) field.fail(error->what, error->hint);
  const auto& money = std::get<AmountOfMoney>(parsed);
  if (money.per != "kWh") field.fail("has no unit of energy", money.hint);
  currency.hold(field, money.currency);
  return MoneyPerJoule(money.amount.value() / joules_of_kwh);
}

}  // namespace

std::span<const Key> owned_keys() { return owned_table; }

Owned read_owned(Section section, OneCurrency& currency) {
  Owned owned{.price = currency.price(section.require("price")),
              .lifetime = section.get<Seconds>("lifetime"),
              .in_use = section.get<double>("in_use"),
              .upkeep_a_year = section.get<double>("upkeep"),
              .power = {},
              .electricity = {}};
  if (const auto power = section.field("power")) {
    owned.power = parsed_by(parse_power, *power);
    owned.electricity = electricity_of(section.require("electricity"), currency);
  }
  section.finish();
  return owned;
}

}  // namespace loader
}  // namespace paceline
