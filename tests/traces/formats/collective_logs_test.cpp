#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tests/traces/collective_log/fixture.h"
#include "traces/collective_log/collective_log.h"
#include "traces/formats/formats.h"
#include "traces/text/format_error.h"
#include "traces/text/lines.h"

namespace paceline::traces {
namespace {

using test::error_of;
using test::fixture;

TEST(CollectiveLog, IsReadInTheFormatThatItsContentShows) {
  const std::vector<std::pair<std::string, std::string>> files{
      {"old_text.txt", "nccl-tests text"},
      {"new_text.txt", "nccl-tests text"},
      {"report.json", "nccl-tests JSON"},
      {"table.csv", "table whose header has size(B) and time(us)"}};
  for (const auto& [file, name] : files) {
    const std::string text = fixture(file);
    for (const CollectiveLogFormat& format : collective_log_formats()) {
      EXPECT_EQ(format.is_one(text), format.name == name) << file << " as " << format.name;
    }
    EXPECT_FALSE(read_collective_logs(text).empty()) << file;
  }
}

TEST(CollectiveLog, OfNoFormatIsAnErrorThatSaysWhatToGive) {
  for (const char* text : {"", "\n\n", "{}", "1024 20.1\n", "# GPUs: 8\n"}) {
    const FormatError error = error_of(text);
    EXPECT_EQ(error.line(), 0U);
    EXPECT_STREQ(error.what(), "has no measured collective");
    EXPECT_NE(error.hint().find("nccl-tests"), std::string::npos);
  }
}

TEST(CollectiveLog, WithAZeroByteNamesItsLine) {
  std::string text = fixture("table.csv");
  text[text.find("1048576")] = '\0';  // in the fifth line
  EXPECT_EQ(error_of(text).line(), 5U);
}

TEST(CollectiveLog, MayHaveAByteOrderMarkAndLinesOfAnotherSystem) {
  std::string text = "\xef\xbb\xbf";
  for (const char c : fixture("table.csv"))
    text += c == '\n' ? std::string("\r\n") : std::string{c};
  const auto logs = read_collective_logs(text);
  ASSERT_EQ(logs.size(), 2U);
  EXPECT_EQ(logs[0].collective, collectives::Collective::reduce_scatter);
  EXPECT_EQ(logs[0].rows.size(), 2U);
  EXPECT_TRUE(logs[0].skipped.empty());
}

// Whatever an interrupted transfer leaves: tables, or the one error.
TEST(CollectiveLog, CutAnywhereIsTablesOrAFormatError) {
  for (const char* file : {"old_text.txt", "new_text.txt", "report.json", "table.csv"}) {
    const std::string text = fixture(file);
    for (std::size_t end = 0; end < text.size(); ++end) {
      try {
        EXPECT_FALSE(read_collective_logs(text.substr(0, end)).empty()) << file << " to " << end;
      } catch (const FormatError& error) {
        EXPECT_FALSE(error.hint().empty());
      }
    }
  }
}

TEST(CollectiveLog, OfRandomBytesIsAnError) {
  std::mt19937 random(7);
  std::string text(4'000'000, '\0');
  for (char& c : text) c = static_cast<char>(1 + random() % 255);
  EXPECT_STREQ(error_of(text).what(), "has no measured collective");
  for (char& c : text) c = " 0123456789\n"[random() % 12];
  EXPECT_STREQ(error_of(text).what(), "has no measured collective");
}

TEST(CollectiveLog, WithALineOfMegabytesIsReadAllTheSame) {
  std::string words;
  while (words.size() < 4'000'000) words += "8 ,";
  const auto logs = read_collective_logs(fixture("old_text.txt") + words + '\n' + words);
  ASSERT_EQ(logs.size(), 1U);
  EXPECT_EQ(logs[0].rows.size(), 4U);
}

TEST(Words, OfALineEndWhereNoRowIsThatLong) {
  std::string line;
  for (int i = 0; i < 1000; ++i) line += "\t word";
  EXPECT_EQ(words_of(line).size(), 64U);
  EXPECT_EQ(words_of(" a\tb  c "), (std::vector<std::string_view>{"a", "b", "c"}));
  EXPECT_TRUE(words_of(" \t").empty());
}

TEST(Times, AreThoseThatAClockCanHaveMeasured) {
  EXPECT_DOUBLE_EQ(measured_time(20, 1e-6)->value(), 20e-6);
  for (const double none : {0.0, -1.0, 1e-320, 1e-9, 1e308, std::nan(""), HUGE_VAL}) {
    EXPECT_FALSE(measured_time(none, 1e-6)) << none;
  }
}

TEST(Sizes, AreAboveZeroAndNotBeyondAllMemory) {
  EXPECT_EQ(measured_size("72057594037927936"), Bytes(std::uint64_t{1} << 56));
  for (const char* none : {"0", "-8", "8.0", "1e6", "", "72057594037927937", "18446744073709551615",
                           "99999999999999999999999"}) {
    EXPECT_FALSE(measured_size(none)) << none;
  }
}

TEST(Shown, IsShortAndPrintable) {
  EXPECT_EQ(shown("A100-SXM4"), "A100-SXM4");
  EXPECT_EQ(shown("a\xff\x1b[0m"), "a??[0m");
  EXPECT_EQ(shown(std::string(1000, 'x')), std::string(80, 'x') + "...");
}

TEST(Comment, SaysGpusNodesOrTheCollective) {
  EXPECT_EQ(comment_of(words_of("# GPUs: 8 of 16")).ranks, 8U);
  EXPECT_EQ(comment_of(words_of("# nodes: 2")).nodes, 2U);
  EXPECT_EQ(comment_of(words_of("# collective: all_to_all")).collective,
            collectives::Collective::all_to_all);
  for (const char* nothing : {"# GPUs: 0", "# GPUs: -8", "# GPUs: many", "GPUs: 8",
                              "# GPUs:", "# GPUs: 1048577", "# collective: sendrecv"}) {
    EXPECT_FALSE(comment_of(words_of(nothing)).says_something()) << nothing;
  }
}

}  // namespace
}  // namespace paceline::traces
