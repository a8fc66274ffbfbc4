#include "traces/json/json_value.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "models/units/units.h"
#include "traces/text/format_error.h"

namespace paceline::traces {
namespace {

JsonValue parsed(const std::string& text) { return parse_json(text, "give JSON"); }

std::string error_of(const std::string& text) {
  try {
    (void)parsed(text);
  } catch (const FormatError& error) {
    EXPECT_EQ(error.hint(), "give JSON");
    return error.what();
  }
  ADD_FAILURE() << "is read: " << text.substr(0, 200);
  return "";
}

template <class Read>
std::string complaint(const Read& read) {
  try {
    (void)read();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

TEST(JsonValues, AreWhatTheTextHas) {
  const JsonValue all = parsed(
      R"( {"n": null, "t": true, "f": false, "u": 18446744073709551615, "i": -3, "d": 0.1,
           "s": "a\n\u00e9\"", "l": [1, [], {}], "": {"x": 1}} )");
  EXPECT_TRUE(all["n"].is_null());
  EXPECT_TRUE(all["t"].truth());
  EXPECT_FALSE(all["f"].get<bool>());
  EXPECT_EQ(all["u"].get<std::uint64_t>(), ~std::uint64_t{0});
  EXPECT_EQ(all["i"].number(), -3);
  EXPECT_EQ(all["d"].get<Seconds>(), Seconds(0.1));
  EXPECT_EQ(all["s"].text(), "a\n\xc3\xa9\"");
  ASSERT_EQ(all["l"].list().size(), 3U);
  EXPECT_TRUE(all["l"].list()[2].object().empty());
  EXPECT_EQ(all[""]["x"].get<Bytes>(), Bytes(1));
  EXPECT_EQ(all.object()[3].first, "u");  // in their order
  for (const char* scalar : {"3", "\"3\"", "true", "null", " 0.5 "}) {
    EXPECT_FALSE(parsed(scalar).is_object()) << scalar;
  }
}

TEST(JsonValues, MayBeAbsent) {
  const JsonValue value = parsed(R"({"a": 1, "a": 2, "b": "x"})");
  EXPECT_EQ(value["a"].if_whole(), 2U);  // the last of several
  EXPECT_EQ(value.find("c"), nullptr);
  EXPECT_TRUE(value["c"]["d"].is_null());
  EXPECT_TRUE(value["a"]["d"].is_null());
  EXPECT_EQ(value["b"].if_number(), std::nullopt);
  EXPECT_EQ(value["b"].text_or_empty(), "x");
  EXPECT_EQ(value["a"].text_or_empty(), "");
}

TEST(JsonValues, SayWhatTheyAreNot) {
  const JsonValue value = parsed(R"({"a": {"b": [1, -1, 300, "x\u0001", 1.5, 1e300, null]}})");
  const JsonValue& list = value["a"]["b"];
  const auto narrow = [](const JsonValue& one) { return one.get<std::uint8_t>(); };
  const auto inner = [&](const JsonValue& in) {
    return member(in, "b", [&](const JsonValue& of) { return decoded_list(of, narrow); });
  };
  EXPECT_EQ(complaint([&] { return member(value, "a", inner); }),
            "a: b: [1]: not a whole number that fits: -1");
  const std::string whole = "not a whole number that fits: ";
  EXPECT_EQ(complaint([&] { return narrow(list.list()[2]); }), whole + "300");
  EXPECT_EQ(complaint([&] { return narrow(list.list()[3]); }), whole + "\"x?\"");
  EXPECT_EQ(complaint([&] { return narrow(list.list()[4]); }), whole + "1.5");
  EXPECT_EQ(complaint([&] { return narrow(list.list()[5]); }), whole + "1e+300");
  EXPECT_EQ(complaint([&] { return list.list()[6].text(); }), "type must be string, but is null");
  EXPECT_EQ(complaint([&] { return list.number(); }), "type must be number, but is array");
  EXPECT_EQ(complaint([&] { return member<bool>(value, "a"); }),
            "a: type must be boolean, but is object");
  EXPECT_EQ(complaint([&] { return member<bool>(value, "b"); }), "has no \"b\"");
  EXPECT_EQ(complaint([&] { return member<bool>(list, "b"); }), "is no object");
  EXPECT_EQ(complaint([&] { return decoded_list(value, narrow); }), "is no list");
}

TEST(JsonValues, OfTextThatIsNoneAreErrors) {
  for (const char* bad :
       {"",           " ",          "{",          "[1",       "[1,]",      "[1 2]",
        "{\"a\"}",    "{\"a\":}",   "{\"a\":1,}", "{1:2}",    "nul",       "[nulx]",
        "[truth]",    "[01]",       "[1.]",       "[.5]",     "[-]",       "[1a]",
        "[+1]",       "[1e]",       "[NaN]",      "\"a",      "[\"\\x\"]", "[\"\\ud800\"]",
        "[\"a\nb\"]", "[\"\xff\"]", "[1]]",       "[1] 2",    "1 2",       "{}{}",
        "[\"a\"b]",   "'a'",        "[1}",        "{\"a\":1]"}) {
    EXPECT_TRUE(error_of(bad).starts_with("is not JSON, or cut off, at byte ")) << bad;
  }
  EXPECT_EQ(error_of("[1, 1e999]"), "has a number beyond all bounds");
  EXPECT_EQ(parsed("[123456789012345678901]").list()[0].number(), 123456789012345678901.0);
}

TEST(JsonValues, AreNestedOnlySoDeep) {
  const auto nested = [](std::size_t deep) {
    return std::string(deep, '[') + std::string(deep, ']');
  };
  EXPECT_TRUE(parsed(nested(1000)).is_list());
  EXPECT_EQ(error_of(nested(1001)), "is nested too deeply");
  EXPECT_EQ(error_of(nested(1'000'000)), "is nested too deeply");
}

}  // namespace
}  // namespace paceline::traces
