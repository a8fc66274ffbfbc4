#include "scenarios/loader/job/money.h"

#include <gtest/gtest.h>

#include <string>

#include "scenarios/loader/job/owned.h"

namespace paceline {
namespace {

std::string refusal_of(const auto& parsed) {
  const auto* error = std::get_if<UnitError>(&parsed);
  return error == nullptr ? "" : error->what + "; " + error->hint;
}

TEST(Money, IsAnAmountWithItsCurrency) {
  const auto price = std::get<Price>(parse_price("500 USD"));
  EXPECT_EQ(price.amount, Money(500));
  EXPECT_EQ(price.currency, "USD");
  EXPECT_EQ(std::get<Price>(parse_price(" 1.25CHF ")).currency, "CHF");
  EXPECT_EQ(std::get<Price>(parse_price("0 EUR")).amount, Money(0));
}

// 36 an hour are 0.01 a second, and so are 864 a day.
TEST(Money, OfATimeIsARate) {
  for (const char* text : {"36 USD/h", "864 USD/d", "0.6 USD/min", "0.01USD/s"}) {
    EXPECT_NEAR(std::get<PriceOfTime>(parse_price_of_time(text)).rate.value(), 0.01, 1e-12) << text;
  }
}

TEST(Money, WithoutACurrencyOrATimeIsRefusedWithACorrectSpelling) {
  EXPECT_EQ(refusal_of(parse_price("500")), "has no unit; write 500 USD");
  EXPECT_EQ(refusal_of(parse_price("500 usd")),
            "has no currency of three capital letters; write 500 USD");
  EXPECT_EQ(refusal_of(parse_price("500 USD/h")), "is not an amount alone; write 500 USD");
  EXPECT_EQ(refusal_of(parse_price("-5 USD")), "is not a price from 0 to 1e+15; write 5 USD");
  EXPECT_EQ(refusal_of(parse_price("nan USD")), "is not a price from 0 to 1e+15; write 5 USD");
  EXPECT_EQ(refusal_of(parse_price("much")), "is not a price; write 5 USD");
  EXPECT_EQ(refusal_of(parse_price("")), "is not a price; write 5 USD");
  EXPECT_EQ(refusal_of(parse_price_of_time("21.96 USD")),
            "is not a price of time; write 21.96 USD/h");
  EXPECT_EQ(refusal_of(parse_price_of_time("21.96 USD/kg")),
            "has no unit of time; write 21.96 USD/h");
  EXPECT_EQ(refusal_of(parse_price_of_time("21.96 USD/")),
            "has no unit of time; write 21.96 USD/h");
}

TEST(Money, IsPrintedWholeFromAHundredOn) {
  EXPECT_EQ(to_text(Money(1234567.4), "USD"), "1,234,567 USD");
  EXPECT_EQ(to_text(Money(1234), "USD"), "1,234 USD");
  EXPECT_EQ(to_text(Money(999.6), "EUR"), "1,000 EUR");
  EXPECT_EQ(to_text(Money(99.996), "USD"), "100 USD");
  EXPECT_EQ(to_text(Money(12.3), "USD"), "12.30 USD");
  EXPECT_EQ(to_text(Money(0), "USD"), "0.00 USD");
  EXPECT_EQ(to_text(MoneyPerSecond(21.957642 / 3600), "USD"), "21.96 USD/h");
}

// 35,064 a lifetime of four years of 8,766 hours are 1 an hour; 5 % of the price a year 1,753.20 in
// 8,766 hours, 0.2 an hour; in use half of the time twice both, 2.4; 4 kW at 0.15 a kWh 0.6.
TEST(Money, OfOnesOwnMachineIsOfPriceUpkeepAndPower) {
  const Owned owned{.price = Money(35064),
                    .lifetime = Seconds(4 * 31557600.0),
                    .in_use = 0.5,
                    .upkeep_a_year = 0.05,
                    .power = std::get<Watts>(parse_power("4kW")),
                    .electricity = MoneyPerJoule(0.15 / 3.6e6)};
  EXPECT_NEAR((price_in_use(owned) * Seconds(3600)).value(), 3.0, 1e-9);
}

TEST(Power, HasAUnit) {
  EXPECT_EQ(std::get<Watts>(parse_power("700 W")), Watts(700));
  EXPECT_EQ(std::get<Watts>(parse_power("4.2kW")), Watts(4200));
  EXPECT_EQ(refusal_of(parse_power("4.2")), "has no unit; write 4.2kW");
  EXPECT_EQ(refusal_of(parse_power("4.2kg")), "has no unit of power; known units: W kW MW");
}

}  // namespace
}  // namespace paceline
