#include "traces/archive/archive.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/scenarios/process.h"

namespace paceline::traces {
namespace {

using Files = std::vector<std::pair<std::string, std::string>>;

bool any_is_wanted(std::string_view) { return true; }

// Names without the folder; what is refused has no text but "refused".
Files unpacked(const test::Folder& folder, const std::string& name) {
  Files files;
  const auto short_name = [&](const std::string& path) {
    return path.substr(folder.path().string().size() + 1);
  };
  for_each_file(
      (folder.path() / name).string(), any_is_wanted,
      [&](UnpackedFile file) { files.emplace_back(short_name(file.name), std::move(file.text)); },
      [&](const std::string& path, const std::string& why) {
        EXPECT_NE(why, "");
        files.emplace_back(short_name(path), "refused");
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

// What can be read only once, packed or not.
TEST(Archive, ReadsPipes) {
  const test::Folder folder;
  folder.write("a.json", "{\"a\": 1}\n");
  shell(folder, "gzip -k a.json && mkfifo pipe packed");
  for (const auto& [pipe, file] : {std::pair{"pipe", "a.json"}, {"packed", "a.json.gz"}}) {
    std::thread writer([&, from = std::string(file), to = std::string(pipe)] {
      std::ifstream in(folder.path() / from, std::ios::binary);
      std::ofstream(folder.path() / to, std::ios::binary) << in.rdbuf();
    });
    EXPECT_EQ(unpacked(folder, pipe), (Files{{pipe, "{\"a\": 1}\n"}}));
    writer.join();
  }
}

TEST(Archive, SaysTheSystemsReason) {
  std::string said;
  for_each_file(
      "/no/such/file", any_is_wanted, [](const UnpackedFile&) {},
      [&](const std::string&, const std::string& why) { said = why; });
  EXPECT_EQ(said, "No such file or directory");
}

TEST(Archive, ReadsFoldersByName) {
  const test::Folder folder;
  folder.write("z.json", "z");
  shell(folder,
        "mkdir in && mkdir in/deep && cp z.json in/2 && gzip -c z.json > in/deep/1.gz && "
        "ln -s nowhere in/link");
  EXPECT_EQ(unpacked(folder, "in"), (Files{{"in/2", "z"}, {"in/deep/1.gz", "z"}}));
}

TEST(Archive, RefusesWhatIsMissingOrHasNothingLeftAndGoesOn) {
  const test::Folder folder;
  EXPECT_EQ(unpacked(folder, "none"), (Files{{"none", "refused"}}));
  shell(folder,
        "mkdir in && seq 100000 | gzip -c > whole.gz && head -c 12 whole.gz > in/cut.gz && "
        "echo z > in/z");
  EXPECT_EQ(unpacked(folder, "in"), (Files{{"in/cut.gz", "refused"}, {"in/z", "z\n"}}));
}

// Of gzip to the last byte, though libarchive unpacks 64 KiB at a time.
TEST(Archive, ShowsWhatIsLeftOfWhatIsCutOff) {
  const test::Folder folder;
  shell(folder,
        "seq 100000 > whole && gzip -k whole && head -c 1000 whole.gz > small.gz && "
        "head -c 150000 whole.gz > large.gz && mkdir in && cp whole in/a && "
        "tar czf whole.tgz in && head -c 150000 whole.tgz > cut.tgz");
  const std::string whole = test::text_of(folder.path() / "whole");
  const auto left_of = [&](const std::string& name) {
    std::string text;
    for_each_file(
        (folder.path() / name).string(), any_is_wanted,
        [&](UnpackedFile file) {
          EXPECT_NE(file.cut, "") << name;
          text = std::move(file.text);
        },
        [&](const std::string&, const std::string& why) { ADD_FAILURE() << name << why; });
    EXPECT_TRUE(whole.starts_with(text)) << name;
    return text.size();
  };
  // It has 588,895 bytes, of which gzip makes some 213,000.
  EXPECT_GT(left_of("small.gz"), 1'000U);  // packed, it is that
  EXPECT_LT(left_of("small.gz"), 10'000U);
  EXPECT_GT(left_of("large.gz"), 350'000U);
  EXPECT_LT(left_of("large.gz"), 550'000U);
  EXPECT_GT(left_of("cut.tgz"), 250'000U);
}

// A megabyte that would fill memory; what is as empty and short is read.
TEST(Archive, RefusesWhatUnpacksToManyTimesItsSize) {
  const test::Folder folder;
  shell(folder, "head -c 70000000 /dev/zero | gzip -c > bomb.gz");
  shell(folder, "head -c 60000000 /dev/zero | gzip -c > short.gz");
  std::string reason;
  for_each_file((folder.path() / "bomb.gz").string(), any_is_wanted,
                [](const UnpackedFile&) { FAIL(); },
                [&](const std::string&, const std::string& why) { reason = why; });
  EXPECT_EQ(reason, "unpacks to more than 500 times its size");
  EXPECT_EQ(unpacked(folder, "short.gz").front().second.size(), 60'000'000U);
}

// What is not wanted, plain, packed, in an archive, from a pipe that would fill memory, and from
// one of another file's end: a megabyte is judged, and little more is read.
TEST(Archive, ReadsNoMoreOfWhatIsNotWantedThanTellsSo) {
  const test::Folder folder;
  shell(folder,
        "head -c 50000000 /dev/zero > plain && gzip -k plain && echo a > a.json && "
        "tar cf both.tar plain a.json && mkfifo pipe packed");
  const auto read = [](const std::string& path) {
    std::vector<std::size_t> sizes;
    for_each_file(
        path, [](std::string_view first) { return first.find('\0') == first.npos; },
        [&](const UnpackedFile& file) { sizes.push_back(file.text.size()); },
        [](const std::string& name, const std::string& why) { ADD_FAILURE() << name << why; });
    return sizes;
  };
  const auto is_little = [](std::size_t size) { return size >= first_bytes && size <= 4'000'000; };
  for (const char* name : {"plain", "plain.gz"}) {
    const auto sizes = read((folder.path() / name).string());
    ASSERT_EQ(sizes.size(), 1U) << name;
    EXPECT_TRUE(is_little(sizes[0])) << name << sizes[0];
  }
  const auto both = read((folder.path() / "both.tar").string());
  ASSERT_EQ(both.size(), 2U);
  EXPECT_TRUE(is_little(both[0])) << both[0];
  EXPECT_EQ(both[1], 2U);
  EXPECT_EQ(read("/dev/zero"), std::vector{first_bytes});
  for (const auto& [pipe, file] : {std::pair{"pipe", "both.tar"}, {"packed", "plain.gz"}}) {
    std::thread writer([&, from = std::string(file), to = std::string(pipe)] {
      shell(folder, "cat " + from + " > " + to + " 2> /dev/null; true");
    });
    const auto sizes = read((folder.path() / pipe).string());
    writer.join();
    EXPECT_EQ(sizes.size(), pipe == std::string_view("pipe") ? 2U : 1U);
    EXPECT_TRUE(is_little(sizes.at(0))) << pipe << sizes[0];
  }
}

}  // namespace
}  // namespace paceline::traces
