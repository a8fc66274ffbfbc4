// Patterns take what the parsers of units take, and refuse what those refuse.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <regex>
#include <string>
#include <variant>
#include <vector>

#include "models/units/parse.h"
#include "scenarios/schema/key_words.h"

namespace paceline::schema {
namespace {

// As JSON Schema has it: anywhere in the text.
bool matches(const Pattern& pattern, const std::string& text) {
  return std::regex_search(text, std::regex(pattern.expression));
}

const std::vector<std::string> numbers{"5",     "0.5",  ".5",  "5.",  "1e3", "1.5e-3",
                                       "2E+2",  "-5",   "+5",  "x",   "",    "1e",
                                       "1.2.3", "0x10", "5 5", "inf", "nan"};

// Every number above with every unit, and with units of none.
template <class T>
void expect_agreement(const Pattern& pattern, Parsed<T> (*parse)(std::string_view),
                      std::vector<std::string_view> units) {
  for (const std::string_view unit : units) EXPECT_TRUE(matches(pattern, fmt::format("5{}", unit)));
  units.insert(units.end(), {"", "parsecs", "Us", "MB/s"});
  for (const std::string& number : numbers) {
    for (const std::string_view unit : units) {
      for (const char* between : {"", " "}) {
        const std::string text = fmt::format("{}{}{}", number, between, unit);
        const bool is_one = std::holds_alternative<T>(parse(text));
        EXPECT_EQ(matches(pattern, text), is_one) << '"' << text << '"';
      }
    }
  }
}

TEST(Patterns, TakeTheTimesThatTheParserTakes) {
  expect_agreement(pattern_of(settings::Time{}), parse_seconds, unit_names().time);
}

TEST(Patterns, TakeTheBandwidthsThatTheParserTakes) {
  expect_agreement(pattern_of(settings::Bandwidth{}), parse_bandwidth, unit_names().bandwidth);
}

TEST(Patterns, TakeTheSpeedsThatTheParserTakes) {
  expect_agreement(pattern_of(settings::ComputeSpeed{}), parse_flops_per_second,
                   unit_names().speed);
}

TEST(Patterns, TakeTheThroughputsThatTheParserTakes) {
  expect_agreement(pattern_of(settings::Throughput{}), parse_throughput, unit_names().throughput);
}

// Parts of a byte are the parser's alone to refuse.
TEST(Patterns, TakeSizesOfWholeBytes) {
  const Pattern size = pattern_of(settings::Size{});
  for (const std::string_view unit : unit_names().size) {
    EXPECT_TRUE(matches(size, fmt::format("25{}", unit)));
  }
  for (const char* text : {"25", "25MB/s", "0MiB", "0.0MiB", "-1MiB"}) {
    EXPECT_FALSE(matches(size, text)) << text;
  }
}

TEST(Patterns, RefuseNothingWhereSomethingIsAsked) {
  EXPECT_FALSE(matches(pattern_of(settings::Bandwidth{}), "0Gbps"));
  EXPECT_FALSE(matches(pattern_of(settings::Bandwidth{}), "0.00e5Gbps"));
  EXPECT_TRUE(matches(pattern_of(settings::Bandwidth{}), "0.01Gbps"));
  EXPECT_TRUE(matches(pattern_of(settings::Time{}), "0s"));
  EXPECT_FALSE(matches(pattern_of(settings::Time{.above_zero = true}), "0s"));
}

TEST(Patterns, KeepPartsWithinTheWhole) {
  const Pattern whole = pattern_of(settings::Fraction{0, 1});
  for (const char* text : {"0%", "20%", "99.9%", "100%", "100.0%"}) {
    EXPECT_TRUE(matches(whole, text)) << text;
  }
  for (const char* text : {"120%", "100.5%", "-1%", "20", "%", "20 percent"}) {
    EXPECT_FALSE(matches(whole, text)) << text;
  }
  EXPECT_FALSE(matches(pattern_of(settings::Fraction{0, 0.99}), "200%"));
  EXPECT_FALSE(matches(pattern_of(settings::Fraction{0.01, 1}), "0%"));
}

TEST(Patterns, SayWhatToWriteAsTheParserDoes) {
  EXPECT_EQ(pattern_of(settings::Time{}).hint, "write 5us or 5ms");
  EXPECT_EQ(pattern_of(settings::Bandwidth{}).hint, "write 5Gbps or 5GBps");
}

TEST(Patterns, TakeVersions) {
  const Pattern version = pattern_of(settings::VersionNumber{});
  for (const char* text : {"2.1", "1.13", "2.1.0", "2.1+cu118"}) {
    EXPECT_TRUE(matches(version, text)) << text;
  }
  for (const char* text : {"two", "2", "2.x"}) EXPECT_FALSE(matches(version, text)) << text;
}

}  // namespace
}  // namespace paceline::schema
