#include "models/text/plain_text.h"

#include <gtest/gtest.h>

namespace paceline {
namespace {

TEST(PlainText, WritesWhatWouldSteerATerminalAsItsNumber) {
  EXPECT_EQ(without_controls("a\x1b[31mb\rc\x7f"), "a\\u001b[31mb\\u000dc\\u007f");
  EXPECT_EQ(without_controls("\xc2\x9b"), "\\u009b");
  EXPECT_EQ(without_controls("abc\xe2\x80\xae"
                             "def"),
            "abc\\u202edef");
  EXPECT_EQ(without_controls("\xe2\x81\xa6\xd8\x9c"), "\\u2066\\u061c");
}

TEST(PlainText, LeavesTextAsItIs) {
  for (const char* text :
       {"one\n\ttwo", "\xc2\xb5s \xe2\x80\x94 \xe4\xb8\xad \xf0\x9f\x98\x80", ""}) {
    EXPECT_EQ(without_controls(text), text);
  }
}

TEST(PlainText, ShowsBytesThatAreNoCharacters) {
  EXPECT_EQ(without_controls("a\xff"
                             "b\xe2\x80"),
            "a\\xffb\\xe2\\x80");
  EXPECT_EQ(without_controls("\xe2\x1b\x80"), "\\xe2\\u001b\\x80");
}

TEST(PlainText, IsOneLineInAMessage) {
  EXPECT_EQ(in_one_line("a\nb\tc\x1b"), "a\\nb c\\u001b");
  EXPECT_EQ(without_controls("a\u2028b\u2029"), "a\\u2028b\\u2029");
}

}  // namespace
}  // namespace paceline
