#include "scenarios/text_form.h"

#include <gtest/gtest.h>

#include <sstream>

#include "scenarios/text_table.h"

namespace paceline {
namespace {

template <class Write>
std::string written(TextForm form, Write write) {
  std::ostringstream out;
  set_text_form(out, form);
  write(out);
  return out.str();
}

TEST(Markdown, ShowsHostileTextLiterally) {
  EXPECT_EQ(in_markdown("a|b`c*d"), "a\\|b\\`c\\*d");
  EXPECT_EQ(in_markdown("<script>&"), "&lt;script&gt;&amp;");
  EXPECT_EQ(in_markdown("two\nlines"), "two\\\\nlines");
  EXPECT_EQ(in_markdown("[x](http://a.b) www.c.d"), "\\[x\\](http&#58;//a.b) www&#46;c.d");
  EXPECT_EQ(in_markdown("@all #7 $x$ ~~y~~"), "&#64;all &#35;7 &#36;x&#36; \\~\\~y\\~\\~");
  EXPECT_EQ(in_markdown("snake_case _x_"), "snake_case \\_x\\_");
  EXPECT_EQ(in_markdown("- item"), "\\- item");
  EXPECT_EQ(in_markdown("12. item"), "12\\. item");
  EXPECT_EQ(in_markdown("---"), "\\---");
  EXPECT_EQ(in_markdown("1.5 GB"), "1.5 GB");
  EXPECT_EQ(in_markdown("-27% +38%"), "-27% +38%");
}

TEST(Markdown, IsATableWithTheSameColumns) {
  EXPECT_EQ(written({.is_markdown = true},
                    [](std::ostream& out) {
                      TextTable table({"name", "one"}, 1);
                      table.add({"a|b", "1"});
                      table.add_bar("part", 1);
                      table.write(out);
                    }),
            "| name | one |\n|:--|--:|\n| a\\|b | 1 |\n");
}

TEST(Bars, AreEighthsOfACharacterOrSigns) {
  EXPECT_EQ(bar_text(0.5, 4, false), "##");
  EXPECT_EQ(bar_text(1, 4, false), "####");
  EXPECT_EQ(bar_text(2, 4, false), "####");
  EXPECT_EQ(bar_text(-1, 4, true), "");
  // 5 of 8 eighths of one character.
  EXPECT_EQ(bar_text(0.625, 1, true), "\u258b");
  EXPECT_EQ(bar_text(0.75, 2, true), "\u2588\u258c");
}

std::string with_bars(std::size_t width) {
  return written({.has_bars = true}, [&](std::ostream& out) {
    set_line_width(out, width);
    TextTable table({"name", "n"}, 1);
    table.add({"a", "1"});
    table.add_bar("part", 0.5);
    table.add({"b", "2"});
    table.add_bar("part", 1);
    table.write(out);
  });
}

// The columns take 7 characters, and 2 lie between: a bar of 8 needs 17.
TEST(Bars, StandInTheLastColumnWhereLinesHaveRoom) {
  EXPECT_EQ(with_bars(17),
            "name  n  part\n"
            "-----------------\n"
            "a     1  ####\n"
            "b     2  ########\n");
  EXPECT_EQ(with_bars(16), "name  n\n-------\na     1\nb     2\n");
}

// SGR 1, 31 and 0.
TEST(Colours, AreOfTheHeaderAndOfMarkedCells) {
  const auto write = [](std::ostream& out) {
    TextTable table({"x", "error"}, 1);
    table.add({"a", "+9%"});
    table.mark(1, Paint::bad);
    table.write(out);
  };
  EXPECT_EQ(written({.has_colour = true}, write),
            "\033[1mx\033[0m  \033[1merror\033[0m\n--------\na    \033[31m+9%\033[0m\n");
  EXPECT_EQ(written({}, write), "x  error\n--------\na    +9%\n");
}

TEST(Headlines, AreBold) {
  const auto write = [](std::ostream& out) { write_headline(out, "a*b"); };
  EXPECT_EQ(written({}, write), "a*b\n\n");
  EXPECT_EQ(written({.is_markdown = true}, write), "**a\\*b**\n\n");
  EXPECT_EQ(written({.has_colour = true}, write), "\033[1ma*b\n\033[0m\n");
}

}  // namespace
}  // namespace paceline
