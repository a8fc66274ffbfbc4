#include "scenarios/text_table.h"

#include <gtest/gtest.h>

#include <sstream>

#include "scenarios/text_form.h"

namespace paceline {
namespace {

std::string written(std::size_t width) {
  TextTable table({"name", "one", "three", "four"}, 1);
  table.add({"a", "1", "333", "4"});
  table.add({"b", "22", "3", "4444"});
  std::ostringstream out;
  set_line_width(out, width);
  table.write(out);
  return out.str();
}

constexpr const char* whole =
    "name  one  three  four\n"
    "----------------------\n"
    "a       1    333     4\n"
    "b      22      3  4444\n";

TEST(TextTable, IsAsWideAsItsCells) {
  EXPECT_EQ(written(0), whole);
  EXPECT_EQ(written(22), whole);
}

// The names have 4 columns, "one" and "three" 3 and 5, with 2 between: 16 of 21.
TEST(TextTable, GoesOnBelowWhereLinesAreNarrower) {
  EXPECT_EQ(written(21),
            "name  one  three\n"
            "----------------\n"
            "a       1    333\n"
            "b      22      3\n"
            "\n"
            "name  four\n"
            "----------\n"
            "a        4\n"
            "b     4444\n");
}

// Names of more than half of the room would leave none.
TEST(TextTable, HasAColumnInEachPartHoweverWide) {
  EXPECT_EQ(written(3),
            "name\n----\na\nb\n\n"
            "one\n---\n  1\n 22\n\n"
            "three\n-----\n  333\n    3\n\n"
            "four\n----\n   4\n4444\n");
}

TEST(WrappedLine, GoesOnBehindItsIndent) {
  EXPECT_EQ(wrapped_line("one two three", 8, 2), "one two\n  three\n");
  EXPECT_EQ(wrapped_line("one two three", 80, 2), "one two three\n");
  EXPECT_EQ(wrapped_line("averylongword and more", 4, 2), "averylongword\n  and\n  more\n");
  EXPECT_EQ(wrapped_line("a b c", 2, 6), "a\n      b\n      c\n");
  EXPECT_EQ(wrapped_line("    ", 2, 0), "    \n");
}

TEST(Throughput, HasThreeDigitsWhereItIsSlow) {
  EXPECT_EQ(in_digits(SamplesPerSecond(1234.56)), "1234.6");
  EXPECT_EQ(in_digits(SamplesPerSecond(10)), "10.0");
  EXPECT_EQ(in_digits(SamplesPerSecond(9.999)), "10.0");
  EXPECT_EQ(in_digits(SamplesPerSecond(5)), "5.00");
  EXPECT_EQ(in_digits(SamplesPerSecond(0.43219)), "0.432");
}

// "µ" has two bytes.
TEST(TextTable, CountsCharacters) {
  TextTable table({"\u00b5", "x"}, 1);
  table.add({"ab", "1"});
  std::ostringstream out;
  table.write(out);
  EXPECT_EQ(out.str(), "\u00b5   x\n-----\nab  1\n");
}

}  // namespace
}  // namespace paceline
