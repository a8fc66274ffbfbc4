// Inputs that come through standard input, stay silent, never end, or are larger than any disk: of
// every command that reads files.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/scenarios/process.h"
#include "tests/scenarios/refused.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline::test {
namespace streams_test {

const std::string fixtures = PACELINE_SOURCE_DIR "/tests/fixtures/";
const std::string program = PACELINE_BINARY " ";

class Streams : public testing::Test {
 protected:
  Streams() { folder_.write("scenario.yaml", small_scenario); }

  [[nodiscard]] Ended shell(const std::string& command) const {
    return run_program({"/bin/bash", "-c", command}, folder_.path());
  }

  const Folder folder_;
};

// What commands read, and what they do with it; a file of the name of standard input is none.
TEST_F(Streams, StandardInputIsADash) {
  folder_.write("-", "no log");
  const struct {
    std::string command, file;
  } cases[] = {
      {"import -", fixtures + "kineto/with_metadata.json"},
      {"import -", fixtures + "collective_log/table.csv"},
      {"calibrate - --collective all_reduce --gpus 16 --nodes 2 -o -",
       fixtures + "collective_log/osu_allreduce.txt"},
      {"calibrate - --between nodes -o -", fixtures + "ping_pong/osu_latency.txt"},
      {"topology - --device a100-sxm4-40gb", fixtures + "topology/dgx_a100.txt"},
      {"replay --quiet -", fixtures + "kineto/with_metadata.json"},
      {"check -", "scenario.yaml"},
      {"run --quiet -", "scenario.yaml"},
  };
  for (const auto& [command, file] : cases) {
    for (const std::string& how :
         {"cat " + file + " | " + program + command, program + command + " < " + file}) {
      const Ended ended = shell(how);
      EXPECT_EQ(ended.exit_code, 0) << how << ": " << ended.err;
      EXPECT_NE(ended.out, "") << how;
    }
  }
  const Ended packed =
      shell("gzip -c " + fixtures + "kineto/with_metadata.json | " + program + "import -");
  EXPECT_EQ(packed.exit_code, 0) << packed.err;
}

TEST_F(Streams, StandardInputHasItsNameInMessages) {
  for (const char* command : {"import -", "calibrate - -o c.yaml", "topology -", "replay -",
                              "check -", "run -", "compare -", "capacity -"}) {
    const Ended ended = shell("echo no such thing | " + program + command);
    expect_refused(ended, "paceline: standard input:");
  }
  expect_refused(shell(program + "import - - < scenario.yaml"),
                 "paceline: standard input: is given twice");
  expect_refused(
      shell(program + "calibrate - -o scenario.yaml < scenario.yaml"),
      "paceline: standard input: is an input, and would be overwritten as scenario.yaml");
  EXPECT_EQ(text_of(folder_.path() / "scenario.yaml"), small_scenario);
}

// A named pipe that nobody writes to, and a pipe whose writer says nothing.
TEST_F(Streams, ThatStaySilentAreGivenUp) {
  ASSERT_EQ(shell("mkfifo pipe").exit_code, 0);
  const std::string begin = "export PACELINE_INPUT_SECONDS=1; ";
  for (const char* command : {"import ", "calibrate -o c.yaml ", "topology ", "replay ", "check ",
                              "run ", "compare ", "capacity "}) {
    for (const auto& [how, name] :
         {std::pair{program + command + "pipe", "pipe"},
          {"exec 3<>pipe; " + program + command + "- < pipe", "standard input"}}) {
      const Ended ended = shell(begin + how);
      EXPECT_EQ(ended.exit_code, 3) << how << ended.err;
      EXPECT_EQ(ended.out, "") << how;
      EXPECT_EQ(ended.err, std::string("paceline: ") + name +
                               ": sent nothing for 1 s; PACELINE_INPUT_SECONDS=600 waits longer\n");
    }
  }
}

TEST_F(Streams, MayBeSlowAsLongAsTheySaySomething) {
  const Ended ended = shell(
      "export PACELINE_INPUT_SECONDS=2; (while read -r line; do echo \"$line\"; sleep 0.3; "
      "done < " +
      fixtures + "collective_log/table.csv) | " + program + "import -");
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
}

TEST_F(Streams, NeedAPatienceThatIsANumber) {
  for (const char* seconds : {"0", "-1", "x", "1.5", "99999999"}) {
    expect_refused(
        shell("PACELINE_INPUT_SECONDS=" + std::string(seconds) + " " + program +
              "import scenario.yaml"),
        "paceline: PACELINE_INPUT_SECONDS: is not a number of seconds from 1 to 1000000");
  }
}

// A hole of 100 GB, alone and behind a text that a command would take.
TEST_F(Streams, ThatAreHugeOrNeverEndAreRefusedAtOnce) {
  ASSERT_EQ(shell("truncate -s 100G hole && cp " + fixtures +
                  "collective_log/table.csv log && truncate -s 100G log")
                .exit_code,
            0);
  for (const char* command : {"import ", "calibrate -o c.yaml ", "topology ", "replay ", "check ",
                              "run ", "compare ", "capacity ", "buckets ", "collective "}) {
    for (const char* file : {"hole", "log", "/dev/zero", "/dev/urandom"}) {
      SCOPED_TRACE(std::string(command) + file);
      const Ended ended = shell(program + command + file);
      EXPECT_EQ(ended.exit_code, 2) << ended.err;
      EXPECT_EQ(ended.out, "");
      EXPECT_EQ(ended.err.substr(0, 10), "paceline: ") << ended.err;
      EXPECT_TRUE(is_sanitized || ended.peak_kib < 100'000) << ended.peak_kib;
      EXPECT_TRUE(is_sanitized || ended.cpu_seconds < 2) << ended.cpu_seconds;
    }
  }
}

}  // namespace streams_test
}  // namespace paceline::test
