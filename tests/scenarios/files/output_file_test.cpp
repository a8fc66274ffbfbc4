#include "scenarios/files/output_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <iostream>
#include <thread>

#include "scenarios/errors.h"
#include "scenarios/files/input_file.h"
#include "tests/scenarios/process.h"

namespace paceline::files {
namespace {

namespace fs = std::filesystem;
using test::text_of;

class OutputFiles : public testing::Test {
 protected:
  [[nodiscard]] std::string at(const std::string& name) const {
    return (folder_.path() / name).string();
  }
  [[nodiscard]] std::size_t files_there() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator()));
  }
  static void write(OutputFile& file, const std::string& text) {
    file.write([&](std::ostream& out) { out << text; });
  }
  static std::string why_refused(OutputFile& file) {
    try {
      file.open();
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  }

  test::Folder folder_;
};

TEST_F(OutputFiles, AreThereOnceTheyAreWhole) {
  OutputFile file(at("a"));
  file.open();
  EXPECT_EQ(files_there(), 0U);
  const std::string much(1'000'000, 'x');
  write(file, much);
  EXPECT_EQ(text_of(at("a")), much);
  EXPECT_EQ(files_there(), 1U);
}

TEST_F(OutputFiles, StayAsTheyWereWhenTheWriterFails) {
  folder_.write("a", "old");
  {
    OutputFile file(at("a"));
    file.open();
    const auto fail = [](std::ostream& out) {
      out << std::string(1'000'000, 'x');
      throw std::runtime_error("no more");
    };
    EXPECT_THROW(file.write(fail), std::runtime_error);
  }
  EXPECT_EQ(text_of(at("a")), "old");
  EXPECT_EQ(files_there(), 1U);
}

TEST_F(OutputFiles, LeaveNothingWhenTheyAreNotWritten) {
  OutputFile(at("a")).open();
  EXPECT_EQ(files_there(), 0U);
}

TEST_F(OutputFiles, KeepThePermissionsOfTheFileBefore) {
  folder_.write("a", "old");
  fs::permissions(at("a"), fs::perms::owner_read | fs::perms::owner_write);
  OutputFile file(at("a"));
  file.open();
  write(file, "new");
  EXPECT_EQ(fs::status(at("a")).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(OutputFiles, FollowLinksAlsoWhereNothingIsYet) {
  fs::create_symlink("second", at("first"));
  fs::create_symlink("real", at("second"));
  for (const char* text : {"one", "two"}) {
    OutputFile file(at("first"));
    file.open();
    write(file, text);
    EXPECT_EQ(text_of(at("real")), text);
    EXPECT_TRUE(fs::is_symlink(at("first")) && fs::is_symlink(at("second")));
  }
}

TEST_F(OutputFiles, HaveNamesAsLongAsNamesCanBe) {
  const std::string name(255, 'n');  // NAME_MAX
  OutputFile file(at(name));
  file.open();
  write(file, "text");
  EXPECT_EQ(text_of(at(name)), "text");
}

TEST_F(OutputFiles, WriteAPipeAsItIs) {
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  std::string read;
  std::thread reader([&] { read = text_of(at("pipe")); });
  OutputFile file(at("pipe"));
  file.open();
  write(file, "text");
  reader.join();
  EXPECT_EQ(read, "text");
  EXPECT_TRUE(fs::is_fifo(at("pipe")));
}

TEST_F(OutputFiles, AreRefusedWhereTwoAreOne) {
  folder_.write("a", "old");
  fs::create_hard_link(at("a"), at("b"));
  OutputFile first(at("a"));
  first.open();
  for (const std::string& same : {at("a"), at("b"), at(".") + "/a"}) {
    OutputFile second(same);
    EXPECT_EQ(why_refused(second),
              same + ": is named for two outputs; give each a file of its own");
  }
  OutputFile new_one(at("c")), same_one(at(".") + "/c");
  new_one.open();
  EXPECT_NE(why_refused(same_one), "");
}

TEST_F(OutputFiles, MayAllGoToNowhere) {
  OutputFile first("/dev/null"), second("/dev/null");
  first.open();
  second.open();
  write(first, "text");
  write(second, "text");
}

TEST_F(OutputFiles, DoNotTakeThePlaceOfInputs) {
  folder_.write("a", "input");
  fs::create_hard_link(at("a"), at("b"));
  EXPECT_EQ(read_text(at("a")), "input");
  OutputFile after(at("b"));
  EXPECT_EQ(why_refused(after),
            at("b") + ": is an input, and would be overwritten; give the output a file of its own");

  folder_.write("c", "input");
  OutputFile before(at("c"));
  before.open();
  EXPECT_THROW((void)read_text(at("c")), InputError);
}

TEST_F(OutputFiles, SayWhatIsWrongWithAPlace) {
  OutputFile folder(at(".")), nowhere(at("no/a")), below_a_file(at("a/b"));
  folder_.write("a", "");
  EXPECT_EQ(why_refused(folder), at(".") + ": cannot be written: Is a directory");
  EXPECT_EQ(why_refused(nowhere), at("no/a") + ": cannot be written: No such file or directory");
  EXPECT_NE(why_refused(below_a_file).find("Not a directory"), std::string::npos);
  OutputFile full("/dev/full");
  full.open();
  EXPECT_THROW(write(full, "text"), BackendError);
}

TEST_F(OutputFiles, OfAFolderMakeIt) {
  OutputFolder folder;
  folder.path = at("new/folder");
  folder.check();
  EXPECT_EQ(files_there(), 0U);
  OutputFolder::write(folder.path, "a", [](std::ostream& out) { out << "text"; });
  EXPECT_EQ(text_of(at("new/folder/a")), "text");
  OutputFolder no_folder;
  no_folder.path = at("new/folder/a");
  EXPECT_THROW(no_folder.check(), InputError);
}

TEST(ReadText, ReadsNoMoreThanItMay) {
  const test::Folder folder;
  const auto large = folder.write("large", std::string(std::size_t{2} << 20, 'a'));
  EXPECT_THROW((void)read_text(large, std::size_t{1} << 20), InputError);
  EXPECT_EQ(read_text(large).size(), std::size_t{2} << 20);
  const std::string no_text = read_text("/dev/zero");
  EXPECT_LE(no_text.size(), std::size_t{1} << 20) << "a block tells";
  EXPECT_NE(no_text.find('\0'), std::string::npos);
  EXPECT_THROW((void)read_text("/", 1000), InputError);
  EXPECT_THROW((void)read_text("/nowhere"), InputError);
  EXPECT_EQ(read_text("/dev/null"), "");
}

}  // namespace
}  // namespace paceline::files
