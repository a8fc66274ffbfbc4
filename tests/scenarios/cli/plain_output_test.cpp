#include "scenarios/cli/plain_output.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "tests/scenarios/process.h"

namespace paceline::cli {
namespace plain_output_test {

TEST(PlainOutput, TakesTextInPiecesOfAnySize) {
  std::ostringstream out;
  {
    const PlainOutput plain(out);
    for (const char c : std::string("a\xe2\x80\xae"
                                    "b\x1b"))
      out << c;
    out << std::string("\xe2") << std::string("\x80\xae!") << std::string("\xf0\x9f");
  }
  EXPECT_EQ(out.str(), "a\\u202eb\\u001b\\u202e!\\xf0\\x9f");
  out << "\x1b";  // it is over
  EXPECT_EQ(out.str().back(), '\x1b');
}

// A name of a file is anybody's: in errors, tables and JSON.
TEST(PlainOutput, IsThatOfAllCommands) {
  const test::Folder folder;
  const std::string name = "\x1b]0;owned\x07\xe2\x80\xae.yaml";
  const auto missing = test::paceline({"run", name}, folder.path());
  EXPECT_EQ(missing.exit_code, 2);
  for (const char* mark : {"\x1b", "\x07", "\xe2\x80\xae"}) {
    EXPECT_EQ(missing.err.find(mark), std::string::npos) << missing.err;
  }
  EXPECT_NE(missing.err.find("\\u202e"), std::string::npos) << missing.err;
}

}  // namespace plain_output_test
}  // namespace paceline::cli
