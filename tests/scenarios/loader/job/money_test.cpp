
#include <gtest/gtest.h>

#include <string>

#include "scenarios/loader/job/catalogue.h"

namespace paceline {
namespace {

loader::Field field_of(const std::string& text) {
  const auto document = loader::make_document("job", {{"price", text}});
  return {document, document->root["price"], "price"};
}

// What follows the text; empty: it is read.
std::string refusal_of(const std::string& text, const auto& read) {
  loader::Prices prices;
  try {
    (void)(prices.*read)(field_of(text));
    return "";
  } catch (const InputError& error) {
    const std::string start = "job: price \"" + text + "\" ";
    const std::string said = error.what();
    return said.starts_with(start) ? said.substr(start.size()) : said;
  }
}

TEST(Money, IsAnAmountWithItsCurrency) {
  loader::Prices dollars, francs, euros;
  EXPECT_EQ(dollars.amount(field_of("500 USD")), Money(500));
  EXPECT_EQ(dollars.currency(), "USD");
  (void)francs.amount(field_of(" 1.25CHF "));
  EXPECT_EQ(francs.currency(), "CHF");
  EXPECT_EQ(euros.amount(field_of("0 EUR")), Money(0));
}

// 36 an hour are 0.01 a second, and so are 864 a day.
TEST(Money, OfATimeIsARate) {
  for (const char* text : {"36 USD/h", "864 USD/d", "0.6 USD/min", "0.01USD/s"}) {
    EXPECT_NEAR(loader::Prices().of_time(field_of(text)).value(), 0.01, 1e-12) << text;
  }
}

TEST(Money, WithoutACurrencyOrATimeIsRefusedWithACorrectSpelling) {
  const auto amount = [](const char* text) { return refusal_of(text, &loader::Prices::amount); };
  EXPECT_EQ(amount("500"), "has no unit; write 500 USD");
  EXPECT_EQ(amount("500 usd"), "has no currency of three capital letters; write 500 USD");
  EXPECT_EQ(amount("500 USD/h"), "is not an amount alone; write 500 USD");
  EXPECT_EQ(amount("-5 USD"), "is not a price of zero or more; write 5 USD");
  EXPECT_EQ(amount("nan USD"), "is not a price of zero or more; write 5 USD");
  EXPECT_EQ(amount("1e16 USD"), "is more than 1e+15");
  EXPECT_EQ(amount("much"), "is not a price; write 5 USD");
  EXPECT_EQ(amount(""), "is not a price; write 5 USD");
  const auto rate = [](const char* text) { return refusal_of(text, &loader::Prices::of_time); };
  EXPECT_EQ(rate("21.96 USD"), "is not a price of time; write 21.96 USD/h");
  EXPECT_EQ(rate("21.96 USD/kg"), "has no unit of time; write 21.96 USD/h");
  EXPECT_EQ(rate("21.96 USD/"), "has no unit of time; write 21.96 USD/h");
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

}  // namespace
}  // namespace paceline
