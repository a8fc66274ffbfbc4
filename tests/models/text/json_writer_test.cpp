#include "models/text/json_writer.h"

#include <gtest/gtest.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <sstream>
#include <variant>

#include "models/units/units.h"

namespace paceline {
namespace json_writer_test {

enum class Colour { red, green };
constexpr auto words_of(Colour) { return words_up_to<Colour::green>("red", "green"); }

struct Gain {
  double value = 0;
  std::optional<Seconds> time;
  std::uint32_t steps = 0;
};

constexpr auto fields_of(const Gain*) {
  return Fields(
      field("value", &Gain::value), field("time_s", &Gain::time),
      optional_field("steps", &Gain::steps),
      optional_field("twice", [](const Gain& gain) { return std::optional(2 * gain.value); }));
}

template <class T>
std::string written(const T& value, int indent = JsonWriter::compact) {
  std::string text;
  JsonWriter(text, indent).value(value);
  return text;
}

TEST(JsonWriter, WritesWhatHasOneForm) {
  EXPECT_EQ(written(true), "true");
  EXPECT_EQ(written(nullptr), "null");
  EXPECT_EQ(written(std::monostate()), "null");
  EXPECT_EQ(written(-3), "-3");
  EXPECT_EQ(written(std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
  EXPECT_EQ(written(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(written("a text"), R"("a text")");
  EXPECT_EQ(written(Colour::green), R"("green")");
  EXPECT_EQ(written(Bytes(12)), "12");
  EXPECT_EQ(written(std::optional<Seconds>()), "null");
  EXPECT_EQ(written(std::variant<int, std::string>("x")), R"("x")");
  EXPECT_EQ(written(std::vector<bool>{true, false}), "[true,false]");
  EXPECT_EQ(written(std::map<std::string, int>{{"a", 1}, {"b", 2}}), R"({"a":1,"b":2})");
}

TEST(JsonWriter, WritesAnObjectByItsFields) {
  EXPECT_EQ(written(Gain{0.5, Seconds(2), 3}),
            R"({"value":0.5,"time_s":2.0,"steps":3,"twice":1.0})");
  EXPECT_EQ(written(std::vector{Gain{}}), R"([{"value":0.0,"time_s":null,"twice":0.0}])");
}

TEST(JsonWriter, WritesNumbersThatReadBackEqual) {
  EXPECT_EQ(written(1.0), "1.0");
  EXPECT_EQ(written(-0.0), "-0.0");
  EXPECT_EQ(written(0.1), "0.1");
  EXPECT_EQ(written(1e-5), "1e-05");
  EXPECT_EQ(written(0.0001), "0.0001");
  EXPECT_EQ(written(100000.0), "100000.0");
  EXPECT_EQ(written(1e300), "1e+300");
  EXPECT_EQ(written(std::nan("")), "null");
  EXPECT_EQ(written(-std::numeric_limits<double>::infinity()), "null");
  std::mt19937_64 bits(1);
  for (int i = 0; i < 10'000; ++i) {
    const double value = std::bit_cast<double>(bits());
    if (!std::isfinite(value)) continue;
    const std::string text = written(value);
    double read = 0;
    ASSERT_EQ(std::from_chars(text.data(), text.data() + text.size(), read).ec, std::errc());
    EXPECT_EQ(read, value) << text;
  }
}

// The replaced parts are those of Unicode 16, table 3-8 ("U+FFFD for Non-Shortest Form Sequences")
// and 3-11 ("Truncated Sequences").
TEST(JsonWriter, WritesAnyBytesAsUtf8) {
  const std::string bad = "\xef\xbf\xbd";
  EXPECT_EQ(written("\"\\/\b\f\n\r\t\x01\x1f\x7f"),
            "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\"");
  EXPECT_EQ(written("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80"),
            "\"gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80\"");
  EXPECT_EQ(written("\xc0\xaf\xe0\x80\xbf\xf0\x81\x82\x41"),
            '"' + bad + bad + bad + bad + bad + bad + bad + bad + "A\"");
  EXPECT_EQ(written("\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41"), '"' + bad + bad + bad + bad + "A\"");
  EXPECT_EQ(written("\xed\xa0\x80"), '"' + bad + bad + bad + '"');  // a surrogate
  EXPECT_EQ(written("\xf4\x90\x80\x80\xe2\x82"), '"' + bad + bad + bad + bad + bad + '"');
  EXPECT_EQ(written(std::string_view("\0", 1)), R"("\u0000")");
}

TEST(JsonWriter, IndentsLevels) {
  std::ostringstream out;
  JsonWriter json(out, 2);
  json.object([&] {
    json.put("none", std::vector<int>{});
    json.put_object("in", [&] { json.put("x", 1); });
    json.put_list("list", std::array{1, 2}, [&](int one) { json.value(one); });
    json.put_object("empty", [] {});
  });
  EXPECT_EQ(out.str(),
            "{\n  \"none\": [],\n  \"in\": {\n    \"x\": 1\n  },\n"
            "  \"list\": [\n    1,\n    2\n  ],\n  \"empty\": {}\n}\n");
}

TEST(JsonWriter, WritesMuchToAStream) {
  std::ostringstream out;
  JsonWriter(out, JsonWriter::compact).value(std::vector<int>(100'000, 7));
  EXPECT_EQ(out.str().size(), 2 * 100'000 + 2U);
  EXPECT_TRUE(out.str().ends_with("7,7]\n"));
}

}  // namespace json_writer_test
}  // namespace paceline
