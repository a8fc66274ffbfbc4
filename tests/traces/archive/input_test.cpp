#include "traces/archive/input.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <system_error>
#include <thread>

#include "tests/scenarios/process.h"
#include "traces/archive/archive.h"

namespace paceline::traces {
namespace {

// For as long as it lives.
class Patience {
 public:
  explicit Patience(const char* seconds) { ::setenv(silence_variable, seconds, 1); }
  Patience(const Patience&) = delete;
  Patience& operator=(const Patience&) = delete;
  ~Patience() { ::unsetenv(silence_variable); }
};

bool all(const std::string&) { return true; }

TEST(Input, KnowsTheSizeOfAFileAlone) {
  const test::Folder folder;
  const Input file(folder.write("file", "four"));
  EXPECT_EQ(file.size(), 4U);
  EXPECT_FALSE(Input("/dev/null").size());
  EXPECT_THROW(Input("/no/such/file"), std::system_error);
}

TEST(Input, ThatSaysNothingIsGivenUp) {
  const test::Folder folder;
  const std::string pipe = (folder.path() / "pipe").string();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const Patience patience("1");
  char byte = 0;
  try {
    (void)Input(pipe).read(&byte, 1);
    FAIL() << "somebody wrote";
  } catch (const SilentInput& error) {
    EXPECT_STREQ(error.what(), "sent nothing for 1 s");
  }
  const Input unused_terminal("/dev/ptmx");
  EXPECT_THROW((void)unused_terminal.read(&byte, 1), SilentInput);
  EXPECT_THROW(for_each_file(
                   pipe, [](std::string_view) { return true; }, [](const UnpackedFile&) {},
                   [](const std::string&, const std::string&) {}),
               SilentInput);
}

// What can be read once is kept: a command may look at a file, and then take it.
TEST(Input, OfAPipeCanBeReadAgain) {
  const test::Folder folder;
  const std::string pipe = (folder.path() / "pipe").string();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(pipe) << "once"; });
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(*bytes_of_stream(std::make_unique<Input>(pipe), 100, all), "once");
  }
  writer.join();
}

TEST(Input, OfAStreamEndsWhereItIsTooLongOrNotWanted) {
  EXPECT_EQ(bytes_of_stream(std::make_unique<Input>("/dev/zero"), 5'000'000, all)->size(),
            5'000'001U);
  const auto none = [](const std::string&) { return false; };
  EXPECT_EQ(bytes_of_stream(std::make_unique<Input>("/dev/zero"), 5'000'000, none)->size(),
            std::size_t{1} << 20);
}

TEST(Input, PatienceIsAWholeNumberOfSeconds) {
  EXPECT_EQ(silence_allowed(), silence_most);
  for (const char* other : {"0", "-1", "x", "1.5", "1000001"}) {
    const Patience patience(other);
    EXPECT_FALSE(silence_allowed()) << other;
  }
  const Patience patience("600");
  EXPECT_EQ(silence_allowed(), std::chrono::seconds(600));
}

// A log behind which a hole of 100 GB begins: its size tells, and nothing is read.
TEST(Input, OfPlainFilesThatAreTooLargeIsNotRead) {
  const test::Folder folder;
  const std::string file = folder.write("log", "size(B),time(us)\n");
  std::filesystem::resize_file(file, std::uintmax_t{100} << 30);
  std::string reason;
  for_each_file(
      file, [](std::string_view) { return true; }, [](const UnpackedFile&) { FAIL(); },
      [&](const std::string&, const std::string& why) { reason = why; });
  EXPECT_EQ(reason, "has more than 4 GiB");
}

}  // namespace
}  // namespace paceline::traces
