// `paceline calibrate` of what import takes: folders, archives, packed files, and files that hold
// collectives and ping-pongs.

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/scenarios/process.h"
#include "tests/scenarios/refused.h"

namespace paceline::test {
namespace calibrate_folders_test {

namespace fs = std::filesystem;

const fs::path fixtures = PACELINE_SOURCE_DIR "/tests/fixtures";

class CalibrateFolders : public testing::Test {
 protected:
  CalibrateFolders() {
    fs::create_directory(folder_.path() / "in");
    const std::string head = "# collective: all_reduce\n# GPUs: 8\n# nodes: 2\nsize(B),time(us)\n";
    folder_.write("in/a.csv", head + "1024,20\n4096,21\n65536,30\n262144,60\n");
    folder_.write("in/b.csv", head + "1048576,170\n4194304,620\n16777216,2400\n");
    folder_.write("in/notes.txt", "nothing of use\n");
  }

  [[nodiscard]] Ended shell(const std::string& command) const {
    return run_program({"/bin/bash", "-c", command}, folder_.path());
  }
  [[nodiscard]] Ended calibrate(const std::string& inputs) const {
    return shell(PACELINE_BINARY " calibrate " + inputs + " -o c.yaml");
  }

  const Folder folder_;
};

TEST_F(CalibrateFolders, TakeLogsAndNameOtherFiles) {
  const Ended files = calibrate("in/*.csv");
  ASSERT_EQ(files.exit_code, 0) << files.err;
  EXPECT_EQ(files.err, "");
  const Ended folder = calibrate("in");
  ASSERT_EQ(folder.exit_code, 0) << folder.err;
  EXPECT_EQ(folder.out, files.out);
  EXPECT_NE(folder.err.find("in/notes.txt: is not a log of collectives, and is skipped"),
            std::string::npos)
      << folder.err;
}

TEST_F(CalibrateFolders, TakeArchivesAndPackedFiles) {
  ASSERT_EQ(shell("tar czf in.tar.gz in && gzip -k in/b.csv").exit_code, 0);
  for (const char* inputs : {"in.tar.gz", "in/a.csv in/b.csv.gz"}) {
    const Ended ended = calibrate(inputs);
    EXPECT_EQ(ended.exit_code, 0) << inputs << ended.err;
    EXPECT_NE(ended.out.find("all_reduce"), std::string::npos) << inputs;
  }
}

TEST_F(CalibrateFolders, WithoutALogAreRefused) {
  fs::create_directory(folder_.path() / "empty");
  expect_refused(calibrate("empty"), "paceline: empty: has no files");
  const Ended none = calibrate("in/notes.txt");
  expect_refused(none, "paceline: in/notes.txt: has no measured collective");
  expect_refused(calibrate("nowhere"),
                 "paceline: nowhere: cannot be read: No such file or directory");
}

// Of IMB's run the PingPong is a link's, the all-reduces of 4 and 8 ranks are collectives.
TEST_F(CalibrateFolders, TakeCollectivesAndPingPongsOfOneFile) {
  const Ended ended = calibrate((fixtures / "collective_log/imb_collectives.txt").string() +
                                " --nodes 2 --between nodes");
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  for (const char* part : {"all_reduce: ", "reduce_scatter: ", "network: "}) {
    EXPECT_NE(ended.out.find(part), std::string::npos) << part << ended.out;
  }
}

TEST_F(CalibrateFolders, SayHowATableMadeByHandIsWritten) {
  folder_.write("mine.txt",
                "nodes size time\n1 536870912 4310\n2 536870912 18400\n"
                "4 536870912 36900\n");
  const Ended ended = calibrate("mine.txt");
  expect_refused(ended,
                 "paceline: mine.txt: has no measured collective; of a table of collectives "
                 "write the header size(B),time(us)");
  expect_refused(shell(PACELINE_BINARY " import mine.txt"),
                 "paceline: mine.txt: is in no known format; of a table of collectives write");
}

}  // namespace calibrate_folders_test
}  // namespace paceline::test
