#include "models/units/parse.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <random>
#include <tuple>
#include <type_traits>

namespace paceline {
namespace {

template <class T>
T value_of(const Parsed<T>& parsed, const std::string& text) {
  const auto* error = std::get_if<UnitError>(&parsed);
  EXPECT_FALSE(error) << '"' << text << "\" " << (error ? error->what : "");
  return error ? T() : std::get<T>(parsed);
}

template <class T>
UnitError error_of(const Parsed<T>& parsed, const std::string& text) {
  const auto* error = std::get_if<UnitError>(&parsed);
  EXPECT_TRUE(error) << '"' << text << "\" should be an error";
  return error ? *error : UnitError{};
}

struct Spelling {
  const char* text;
  double value;
};

template <class Parse>
void expect_spellings(Parse parse, std::initializer_list<Spelling> spellings) {
  for (const auto& [text, value] : spellings) {
    const auto parsed = static_cast<double>(value_of(parse(text), text).value());
    EXPECT_NEAR(parsed, value, value * 1e-15) << text;
  }
}

TEST(ParseSeconds, ReadsEverySpelling) {
  expect_spellings(parse_seconds,
                   {{"5ns", 5e-9},
                    {"5us", 5e-6},
                    {"5ms", 5e-3},
                    {"5s", 5},
                    {"5m", 300},  // minutes
                    {"5min", 300},
                    {"5h", 18000},
                    {"2d", 172800},
                    {"4y", 126230400},  // 4 x 365.25 days: one of them is 29 February
                    {"0s", 0},
                    {"0.25ms", 2.5e-4},
                    {".5s", 0.5},
                    {"2.5e3us", 2.5e-3}});
}

// 100 Gbit/s are 12.5 GB/s: bits are an eighth of bytes, and prefixes of both are powers of 1000.
TEST(ParseBandwidth, TellsBitsFromBytes) {
  expect_spellings(parse_bandwidth, {{"100Gbps", 12.5e9},
                                     {"12.5GBps", 12.5e9},
                                     {"8bps", 1},
                                     {"8kbps", 1e3},
                                     {"8Mbps", 1e6},
                                     {"8Gbps", 1e9},
                                     {"8Tbps", 1e12},
                                     {"8Bps", 8},
                                     {"8kBps", 8e3},
                                     {"8MBps", 8e6},
                                     {"8GBps", 8e9},
                                     {"8TBps", 8e12},
                                     {"8KiBps", 8192},
                                     {"8MiBps", 8388608},
                                     {"8GiBps", 8589934592}});
}

TEST(ParseBytes, ReadsPowersOf1000AndOf1024) {
  expect_spellings(parse_bytes, {{"0B", 0},
                                 {"7B", 7},
                                 {"3kB", 3000},
                                 {"3MB", 3e6},
                                 {"3GB", 3e9},
                                 {"3TB", 3e12},
                                 {"3KiB", 3072},
                                 {"25MiB", 26214400},
                                 {"3GiB", 3221225472},
                                 {"3TiB", 3298534883328},
                                 {"1.5KiB", 1536},
                                 {"0.5MB", 500000}});
}

TEST(ParseFlops, ReadsEverySpelling) {
  expect_spellings(parse_flops_per_second, {{"5FLOPS", 5},
                                            {"5kFLOPS", 5e3},
                                            {"5MFLOPS", 5e6},
                                            {"5GFLOPS", 5e9},
                                            {"15.7TFLOPS", 15.7e12},
                                            {"5PFLOPS", 5e15}});
}

TEST(ParseThroughput, ReadsEverySpelling) {
  expect_spellings(parse_throughput,
                   {{"119.6 samples/s", 119.6}, {"352img/s", 352}, {"8 sentences/s", 8}});
  expect_spellings(parse_power, {{"700 W", 700}, {"4.2kW", 4200}, {"1 MW", 1e6}});
}

TEST(Parse, AllowsBlanksAroundNumberAndUnit) {
  EXPECT_EQ(value_of(parse_seconds("5 us"), "5 us"), Seconds(5 * 1e-6));
  EXPECT_EQ(value_of(parse_seconds("  5 \t us "), "5 us"), Seconds(5 * 1e-6));
  EXPECT_EQ(value_of(parse_bytes("25 MiB"), "25 MiB"), Bytes(25 << 20));
}

TEST(Parse, RefusesABareNumberAndShowsTwoSpellingsOfIt) {
  const auto time = error_of(parse_seconds("5"), "5");
  EXPECT_EQ(time.what, "has no unit");
  EXPECT_EQ(time.hint, "write 5us or 5ms");
  const auto bandwidth = error_of(parse_bandwidth("12.5"), "12.5");
  EXPECT_EQ(bandwidth.what, "has no unit");
  EXPECT_EQ(bandwidth.hint, "write 12.5Gbps or 12.5GBps");
  const auto size = error_of(parse_bytes(" 25 "), "25");
  EXPECT_EQ(size.what, "has no unit");
  EXPECT_EQ(size.hint, "write 25MiB or 25MB");
  const auto speed = error_of(parse_flops_per_second("15"), "15");
  EXPECT_EQ(speed.hint, "write 15TFLOPS or 15GFLOPS");
  const auto throughput = error_of(parse_throughput("0"), "0");
  EXPECT_EQ(throughput.what, "has no unit");
  EXPECT_EQ(throughput.hint, "write 0 samples/s or 0 img/s");
  EXPECT_EQ(error_of(parse_power("4.2"), "4.2").hint, "write 4.2kW");
}

TEST(Parse, RefusesNegativeAndEndlessNumbers) {
  for (const char* text :
       {"-5us", "-0.001us", "nanus", "nan us", "infs", "inf s", "-infs", "infinity s"}) {
    const auto error = error_of(parse_seconds(text), text);
    EXPECT_EQ(error.what, "is not a time of zero or more") << text;
  }
  EXPECT_EQ(error_of(parse_bytes("-1B"), "-1B").what, "is not a size of zero or more");
}

TEST(Parse, RefusesNumbersBeyondADouble) {
  EXPECT_EQ(error_of(parse_seconds("1e400s"), "1e400s").what, "is not a time");
  EXPECT_EQ(error_of(parse_bandwidth("1e999GBps"), "1e999GBps").what, "is not a bandwidth");
}

// 1e308 is a double, 1e308 hours (3.6e311 s) are none.
TEST(Parse, RefusesQuantitiesBeyondADouble) {
  (void)error_of(parse_seconds("1e308h"), "1e308h");
  (void)error_of(parse_bandwidth("1e308GBps"), "1e308GBps");
  (void)error_of(parse_flops_per_second("1e300PFLOPS"), "1e300PFLOPS");
}

TEST(Parse, RefusesWhatIsNoNumber) {
  for (const char* text : {"", " ", "us", "five us", "+5us", "--5us", "Gbps", "\xff"}) {
    EXPECT_EQ(error_of(parse_seconds(text), text).what, "is not a time") << text;
  }
}

TEST(Parse, RefusesAnUnknownUnitAndListsTheKnownOnes) {
  const auto error = error_of(parse_seconds("5 sec"), "5 sec");
  EXPECT_EQ(error.what, "has no unit of time");
  EXPECT_EQ(error.hint, "known units: ns us ms s m min h d y");
  for (const char* text : {"5US", "5 u s", "5us!", "5,5us", "0x10us", "5MiB", "1 2us", "5us5"}) {
    EXPECT_EQ(error_of(parse_seconds(text), text).what, "has no unit of time") << text;
  }
  // Case tells bits from bytes, so it is never ignored.
  for (const char* text : {"100gbps", "100GBPS", "100GB", "100Gb", "5us"}) {
    EXPECT_EQ(error_of(parse_bandwidth(text), text).what, "has no unit of bandwidth") << text;
  }
  EXPECT_EQ(error_of(parse_bytes("5Mb"), "5Mb").what, "has no unit of size");
}

TEST(ParseBytes, RefusesPartsOfAByte) {
  for (const char* text : {"0.5B", "1.5B", "0.0001kB", "1.0001KiB"}) {
    EXPECT_EQ(error_of(parse_bytes(text), text).what, "is not a whole number of bytes") << text;
  }
}

// 2^53 B are 8 PiB, or 8192 TiB; the next byte is refused, because doubles stop being exact there.
TEST(ParseBytes, RefusesMoreThanADoubleHoldsExactly) {
  EXPECT_EQ(value_of(parse_bytes("8192TiB"), "8192TiB"), Bytes(std::uint64_t{1} << 53));
  EXPECT_EQ(error_of(parse_bytes("8193TiB"), "8193TiB").what, "is more than 8 PiB");
  EXPECT_EQ(error_of(parse_bytes("1e30B"), "1e30B").what, "is more than 8 PiB");
}

// Every size of the form d.ddd kB, MB or GB is a whole number of bytes, whatever 1.001 * 1e3 is in
// binary.
TEST(ParseBytes, TakesEveryDecimalThatIsAWholeNumberOfBytes) {
  const std::array<std::tuple<const char*, std::uint64_t>, 3> units{
      {{"kB", 1}, {"MB", 1000}, {"GB", 1000000}}};
  std::vector<std::string> refused;
  for (const auto& [unit, bytes_per_thousandth] : units) {
    for (std::uint64_t thousandths = 1000; thousandths < 10000; ++thousandths) {
      const std::string digits = std::to_string(thousandths);
      const std::string text = digits.substr(0, 1) + "." + digits.substr(1) + unit;
      const auto parsed = parse_bytes(text);
      const auto* size = std::get_if<Bytes>(&parsed);
      if (!size || *size != Bytes(thousandths * bytes_per_thousandth)) refused.push_back(text);
    }
  }
  EXPECT_EQ(refused.size(), 0U) << "the first is " << (refused.empty() ? "" : refused.front());
}

// The spellings that a hint names are ones to copy: "write A or B".
TEST(Parse, HintsNameSpellingsThatAreAccepted) {
  for (const char* text : {"5", "0.25", "1e3", "", "five", "nan", "inf", "-5", "-5us", "nanus"}) {
    const std::string hint = error_of(parse_seconds(text), text).hint;
    ASSERT_TRUE(hint.starts_with("write ")) << hint;
    const auto middle = hint.find(" or ");
    ASSERT_NE(middle, std::string::npos) << hint;
    for (const auto& spelling : {hint.substr(6, middle - 6), hint.substr(middle + 4)}) {
      EXPECT_TRUE(std::holds_alternative<Seconds>(parse_seconds(spelling)))
          << '"' << text << "\" is answered with: " << hint;
    }
  }
}

TEST(ToText, PrintsTimesInTheLargestUnitThatKeepsTheNumberAtOneOrAbove) {
  EXPECT_EQ(to_text(Seconds(0)), "0s");
  EXPECT_EQ(to_text(Seconds(5e-6)), "5us");
  EXPECT_EQ(to_text(Seconds(2.5e-9)), "2.5ns");
  EXPECT_EQ(to_text(Seconds(0.012345)), "12.35ms");  // four digits: 12.345 rounds
  EXPECT_EQ(to_text(Seconds(1)), "1s");
  EXPECT_EQ(to_text(Seconds(90)), "90s");  // minutes and hours are for reading only
  EXPECT_EQ(to_text(Seconds(1e-10)), "0.1ns");
  EXPECT_EQ(to_text(Seconds(0.00099996)), "1ms");  // not 1000us
  EXPECT_EQ(to_text(Seconds(0.0009994)), "999.4us");
}

TEST(ToText, PrintsBandwidthInBytes) {
  EXPECT_EQ(to_text(BytesPerSecond(12.5e9)), "12.5GBps");
  EXPECT_EQ(to_text(BytesPerSecond(999)), "999Bps");
  EXPECT_EQ(to_text(BytesPerSecond(1e3)), "1kBps");
  EXPECT_EQ(to_text(BytesPerSecond(3.2e12)), "3.2TBps");
  EXPECT_EQ(to_text(BytesPerSecond(0)), "0Bps");
}

TEST(ToText, PrintsSizesExactlyWhereABinaryUnitDividesThem) {
  EXPECT_EQ(to_text(Bytes(0)), "0B");
  EXPECT_EQ(to_text(Bytes(1)), "1B");
  EXPECT_EQ(to_text(Bytes(1023)), "1023B");
  EXPECT_EQ(to_text(Bytes(1024)), "1KiB");
  EXPECT_EQ(to_text(Bytes(25 << 20)), "25MiB");
  EXPECT_EQ(to_text(Bytes((25 << 20) + 1024)), "25601KiB");
  EXPECT_EQ(to_text(Bytes(99999)), "99999B");
  EXPECT_EQ(to_text(Bytes(100001)), "100kB");
  EXPECT_EQ(to_text(Bytes(46758048)), "46.76MB");  // ResNet-18's gradients
  EXPECT_EQ(to_text(Bytes(std::uint64_t{3} << 40)), "3TiB");
}

// Four significant digits: off by at most half a unit of the fourth, 0.5 in 1000 at worst.
constexpr double four_digits = 5.0001e-4;

double random_magnitude(std::mt19937_64& random, double lowest, double highest) {
  std::uniform_real_distribution<double> exponent(std::log10(lowest), std::log10(highest));
  return std::pow(10.0, exponent(random));
}

TEST(ToText, TimesReadBackAsTheyWere) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    const double time = random_magnitude(random, 1e-12, 1e9);
    const std::string text = to_text(Seconds(time));
    const double back = value_of(parse_seconds(text), text).value();
    ASSERT_NEAR(back, time, time * four_digits) << text;
  }
}

TEST(ToText, BandwidthsReadBackAsTheyWere) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 20000; ++i) {
    const double bandwidth = random_magnitude(random, 1e-3, 1e18);
    const std::string text = to_text(BytesPerSecond(bandwidth));
    const double back = value_of(parse_bandwidth(text), text).value();
    ASSERT_NEAR(back, bandwidth, bandwidth * four_digits) << text;
  }
}

TEST(ToText, SizesReadBackAsTheyWere) {
  std::mt19937_64 random(3);
  std::vector<std::string> refused;
  for (int i = 0; i < 20000; ++i) {
    const auto size = static_cast<std::uint64_t>(random_magnitude(random, 1, 9e15));
    const std::string text = to_text(Bytes(size));
    const auto parsed = parse_bytes(text);
    const auto* back = std::get_if<Bytes>(&parsed);
    if (!back) {
      refused.push_back(std::to_string(size) + " -> " + text);
      continue;
    }
    ASSERT_NEAR(static_cast<double>(back->value()), static_cast<double>(size),
                static_cast<double>(size) * four_digits)
        << text;
    const bool printed_exactly = size < 100000 || size % 1024 == 0;
    ASSERT_TRUE(!printed_exactly || back->value() == size) << text;
  }
  EXPECT_EQ(refused.size(), 0U) << "the first is " << (refused.empty() ? "" : refused.front());
}

}  // namespace
}  // namespace paceline
