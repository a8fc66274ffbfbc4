#include "traces/archive/archive.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/scenarios/process.h"

namespace paceline::traces {
namespace {

using Files = std::vector<std::pair<std::string, std::string>>;

// Names without the folder.
Files unpacked(const test::Folder& folder, const std::string& name) {
  Files files;
  for_each_file((folder.path() / name).string(), [&](UnpackedFile file) {
    files.emplace_back(file.name.substr(folder.path().string().size() + 1), std::move(file.text));
  });
  return files;
}

void shell(const test::Folder& folder, const std::string& command) {
  const auto ended = test::run_program({"/bin/sh", "-c", command}, folder.path());
  ASSERT_EQ(ended.exit_code, 0) << command << ended.err;
}

TEST(Archive, ReadsAFileAsItIs) {
  const test::Folder folder;
  folder.write("a.json", "{\"a\": 1}\n");
  folder.write("empty", "");
  EXPECT_EQ(unpacked(folder, "a.json"), (Files{{"a.json", "{\"a\": 1}\n"}}));
  EXPECT_EQ(unpacked(folder, "empty"), (Files{{"empty", ""}}));
}

TEST(Archive, UnpacksByContent) {
  const test::Folder folder;
  folder.write("a.json", "{\"a\": 1}\n");
  folder.write("b.json", "{\"b\": 2}\n");
  shell(folder, "gzip -c a.json > c.trace && tar czf d.tgz a.json b.json && cp d.tgz e");
  EXPECT_EQ(unpacked(folder, "c.trace"), (Files{{"c.trace", "{\"a\": 1}\n"}}));
  const Files both{{"d.tgz:a.json", "{\"a\": 1}\n"}, {"d.tgz:b.json", "{\"b\": 2}\n"}};
  EXPECT_EQ(unpacked(folder, "d.tgz"), both);
  EXPECT_EQ(unpacked(folder, "e").size(), 2U);
}

TEST(Archive, ReadsFoldersByName) {
  const test::Folder folder;
  folder.write("z.json", "z");
  shell(folder,
        "mkdir in && mkdir in/deep && cp z.json in/2 && gzip -c z.json > in/deep/1.gz && "
        "ln -s nowhere in/link");
  EXPECT_EQ(unpacked(folder, "in"), (Files{{"in/2", "z"}, {"in/deep/1.gz", "z"}}));
}

TEST(Archive, SaysWhatIsMissingOrCutOff) {
  const test::Folder folder;
  EXPECT_THROW((void)unpacked(folder, "none"), ArchiveError);
  folder.write("a", std::string(100'000, 'a') + "b");
  shell(folder, "seq 100000 | gzip -c > whole.gz && head -c 1000 whole.gz > cut.gz");
  EXPECT_THROW((void)unpacked(folder, "cut.gz"), ArchiveError);
}

}  // namespace
}  // namespace paceline::traces
