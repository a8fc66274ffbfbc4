// The name that results give the code (cmake/version.cmake), in repositories made for it.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <string>

#include "tests/scenarios/process.h"

namespace paceline {
namespace {

namespace fs = std::filesystem;

class BuildLabel : public testing::Test {
 protected:
  void SetUp() override {
    write("tree/models/a.cpp", "int a;\n");
    write("tree/README.md", "one\n");
    write("label.in", "@COMMIT@");
    sh("git init -q && git add . && git -c user.name=t -c user.email=t@t commit -qm one");
    head_ = sh("git describe --always");
  }

  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((folder_.path() / name).parent_path());
    std::ofstream(folder_.path() / name) << text;
  }
  std::string sh(const std::string& command) const {
    const auto ended =
        test::run_program({"/bin/sh", "-c", "cd tree && " + command}, folder_.path());
    EXPECT_EQ(ended.exit_code, 0) << command << '\n' << ended.err;
    return ended.out.substr(0, ended.out.find('\n'));
  }
  std::string label_of(const std::string& tree) const {
    const std::string root = folder_.path().string();
    const auto ended =
        test::run_program({"/usr/bin/env", "cmake", "-DSOURCE_DIR=" + root + "/" + tree,
                           "-DTEMPLATE=" + root + "/label.in", "-DOUTPUT=" + root + "/label", "-P",
                           PACELINE_SOURCE_DIR "/cmake/version.cmake"},
                          folder_.path());
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    const std::string label = test::text_of(folder_.path() / "label");
    return label.substr(0, label.find('\n'));
  }

  test::Folder folder_;
  std::string head_;
};

TEST_F(BuildLabel, IsTheCommitWhereNoSourceDiffersFromIt) {
  EXPECT_EQ(label_of("tree"), head_);
  write("tree/README.md", "two\n");
  EXPECT_EQ(label_of("tree"), head_);
}

TEST_F(BuildLabel, TellsEveryChangeOfSourcesFromTheOthers) {
  write("tree/models/a.cpp", "int b;\n");
  const std::string changed = label_of("tree");
  EXPECT_TRUE(std::regex_match(changed, std::regex(head_ + "-dirty\\.[0-9a-f]{8}"))) << changed;
  write("tree/models/a.cpp", "int c;\n");
  EXPECT_NE(label_of("tree"), changed);
  write("tree/models/a.cpp", "int a;\n");
  EXPECT_EQ(label_of("tree"), head_);
  write("tree/models/new.cpp", "int d;\n");
  const std::string added = label_of("tree");
  EXPECT_EQ(added.rfind(head_ + "-dirty.", 0), 0U) << added;
  write("tree/models/new.cpp", "int e;\n");
  EXPECT_NE(label_of("tree"), added);
}

TEST_F(BuildLabel, FollowsACommitInAWorktree) {
  sh("git worktree add -q ../other");
  EXPECT_EQ(label_of("other"), head_);
  sh("cd ../other && echo 'int b;' > models/a.cpp && "
     "git -c user.name=t -c user.email=t@t commit -qam two");
  const std::string second = label_of("other");
  EXPECT_NE(second, head_);
  EXPECT_EQ(second, sh("git -C ../other describe --always"));
  EXPECT_EQ(label_of("tree"), head_);
}

TEST_F(BuildLabel, IsUnknownInAnArchiveEvenInsideAnotherRepository) {
  write("tree/vendor/paceline/models/a.cpp", "int a;\n");
  EXPECT_EQ(label_of("tree/vendor/paceline"), "unknown");
}

TEST_F(BuildLabel, LeavesAFileThatSaysItAlreadyAsItIs) {
  (void)label_of("tree");
  const auto before = fs::last_write_time(folder_.path() / "label");
  (void)label_of("tree");
  EXPECT_EQ(fs::last_write_time(folder_.path() / "label"), before);
}

}  // namespace
}  // namespace paceline
