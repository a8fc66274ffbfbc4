// What is there to record with is found by files alone.

#include <gtest/gtest.h>

#include <filesystem>

#include "scenarios/doctor/doctor.h"
#include "tests/scenarios/process.h"

namespace paceline::doctor {
namespace {

namespace fs = std::filesystem;

// A prefix with an interpreter; writes files below it.
class Prefix {
 public:
  Prefix() {
    write("bin/python3", "");
    fs::permissions(path() / "bin/python3", fs::perms::owner_all);
  }
  void write(const std::string& file, const std::string& text) const {
    fs::create_directories((path() / file).parent_path());
    folder_.write(file, text);
  }
  [[nodiscard]] fs::path path() const { return folder_.path(); }
  [[nodiscard]] std::string bin() const { return (path() / "bin").string(); }

 private:
  test::Folder folder_;
};

TEST(TracingTools, FindTorchWhereAnInterpreterOfPathKeepsItsPackages) {
  const Prefix prefix;
  EXPECT_FALSE(find_tracing_tools(prefix.bin(), "").torch);
  prefix.write("lib/python3.11/site-packages/torch/__init__.py", "");
  prefix.write("lib/python3.11/site-packages/torch/version.py",
               "from typing import Optional\n__version__ = '2.1.0+cpu'\ndebug = False\n");
  const auto tools = find_tracing_tools("/nowhere:" + prefix.bin(), "");
  EXPECT_EQ(tools.torch,
            (prefix.path() / "lib/python3.11/site-packages/torch").string() + " 2.1.0+cpu");
  EXPECT_FALSE(find_tracing_tools("/nowhere", "").torch);
}

// Debian has its own folder for all of its versions; no file says which torch it is.
TEST(TracingTools, FindTorchOfDebianAndOfPythonPath) {
  const Prefix prefix;
  prefix.write("lib/python3/dist-packages/torch/__init__.py", "");
  EXPECT_EQ(find_tracing_tools(prefix.bin(), "").torch,
            (prefix.path() / "lib/python3/dist-packages/torch").string());
  const Prefix other;
  other.write("mine/torch/__init__.py", "");
  EXPECT_EQ(find_tracing_tools("", (other.path() / "mine").string()).torch,
            (other.path() / "mine/torch").string());
}

TEST(TracingTools, FindProgramsOfPath) {
  const Prefix prefix;
  EXPECT_FALSE(find_tracing_tools(prefix.bin(), "").nsys);
  prefix.write("bin/nsys", "");
  EXPECT_FALSE(find_tracing_tools(prefix.bin(), "").nsys);  // not executable
  fs::permissions(prefix.path() / "bin/nsys", fs::perms::owner_all);
  EXPECT_EQ(find_tracing_tools(prefix.bin(), "").nsys, prefix.bin() + "/nsys");
}

TEST(RecordingAdvice, IsOfAGoodTrace) {
  const auto all = recording_advice({});
  ASSERT_EQ(all.size(), 3U);
  std::string script;
  for (const std::string& line : all.front().lines) script += line + '\n';
  for (const char* part : {"record_shapes=True", "with_stack=False", "schedule(wait=5, warmup=3",
                           "trace.{rank}.json", "p.step()"}) {
    EXPECT_NE(script.find(part), std::string::npos) << part;
  }
  for (const RecordingAdvice& one : all) {
    EXPECT_FALSE(one.here) << one.tool;
    EXPECT_EQ(one.import.rfind("paceline import ", 0), 0U);
  }
  TracingTools tools;
  tools.nsys = "/usr/bin/nsys";
  EXPECT_EQ(recording_advice(tools).back().here, "/usr/bin/nsys");
}

}  // namespace
}  // namespace paceline::doctor
