// Outputs of all commands: none takes the place of an input, and what was there stays whole.

#include <gtest/gtest.h>

#include "tests/scenarios/process.h"
#include "tests/scenarios/refused.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline::test {
namespace outputs_test {

constexpr const char* log_text =
    "# collective: all_reduce\n# GPUs: 2\n# nodes: 2\n"
    "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
    "1048576 262144 float sum -1 50.00 20.97 20.97 0 50.00 20.97 20.97 0\n"
    "2097152 524288 float sum -1 90.00 23.30 23.30 0 90.00 23.30 23.30 0\n";

class Outputs : public testing::Test {
 protected:
  Outputs() {
    folder_.write("scenario.yaml", small_scenario);
    folder_.write("log.txt", log_text);
    std::filesystem::create_hard_link(folder_.path() / "scenario.yaml", folder_.path() / "hard");
    std::filesystem::create_symlink("log.txt", folder_.path() / "soft");
    EXPECT_EQ(
        run({"run", "scenario.yaml", "--json", "result.json", "--trace", "trace.json"}).exit_code,
        0);
  }

  Ended run(const std::vector<std::string>& arguments) const {
    return paceline(arguments, folder_.path());
  }
  [[nodiscard]] std::string text(const std::string& name) const {
    return text_of(folder_.path() / name);
  }

  Folder folder_;
};

TEST_F(Outputs, NeverTakeThePlaceOfInputs) {
  struct Case {
    std::vector<std::string> arguments;
    const char* input;
  };
  for (const auto& [arguments, input] : {
           Case{{"run", "scenario.yaml", "--json", "scenario.yaml"}, "scenario.yaml"},
           Case{{"run", "scenario.yaml", "--csv", "hard"}, "scenario.yaml"},
           Case{{"run", "scenario.yaml", "--timeline", "././scenario.yaml"}, "scenario.yaml"},
           Case{{"run", "hard", "--trace", "scenario.yaml"}, "scenario.yaml"},
           Case{{"run", "scenario.yaml", "--timeline", "t", "--beside", "trace.json", "--json",
                 "trace.json"},
                "trace.json"},
           Case{{"calibrate", "log.txt", "-o", "log.txt"}, "log.txt"},
           Case{{"calibrate", "log.txt", "-o", "soft"}, "log.txt"},
           Case{{"calibrate", "soft", "-o", "log.txt"}, "log.txt"},
           Case{{"import", "trace.json", "-o", "trace.json"}, "trace.json"},
           Case{{"import", "trace.json", "--json", "trace.json"}, "trace.json"},
           Case{{"import", "trace.json", "--timeline", "trace.json"}, "trace.json"},
           Case{{"replay", "trace.json", "--json", "trace.json"}, "trace.json"},
           Case{{"compare", "result.json", "result.json", "--json", "result.json"}, "result.json"},
           Case{{"strategies", "scenario.yaml", "--json", "scenario.yaml"}, "scenario.yaml"},
           Case{{"advise", "scenario.yaml", "--json", "scenario.yaml"}, "scenario.yaml"},
           Case{{"explain", "scenario.yaml", "--json", "scenario.yaml"}, "scenario.yaml"},
           Case{{"validate", "scenario.yaml", "--json", "scenario.yaml"}, "scenario.yaml"},
           Case{{"topology", "log.txt", "-o", "log.txt"}, "log.txt"},
       }) {
    const std::string before = text(input);
    const Ended ended = run(arguments);
    expect_refused(ended, "paceline: ");
    EXPECT_NE(ended.err.find("is an input, and would be overwritten"), std::string::npos)
        << ended.err;
    EXPECT_EQ(text(input), before) << arguments.front() << " " << input;
  }
}

// A file that is open already has other names.
TEST_F(Outputs, NeverTakeThePlaceOfInputsThatAreOpen) {
  const std::string before = text("scenario.yaml");
  for (const char* command :
       {"run scenario.yaml --json /dev/fd/3 3<>scenario.yaml",
        "run scenario.yaml --csv /proc/self/fd/3 3<>hard", "run scenario.yaml >>scenario.yaml",
        "run scenario.yaml --json - 1<>scenario.yaml"}) {
    const Ended ended = run_program(
        {"/bin/sh", "-c", std::string("exec " PACELINE_BINARY " ") + command}, folder_.path());
    EXPECT_EQ(ended.exit_code, 2) << command;
    EXPECT_NE(ended.err.find("is an input, and would be overwritten as "), std::string::npos)
        << ended.err;
    EXPECT_EQ(text("scenario.yaml"), before) << command;
  }
  EXPECT_EQ(run_program({"/bin/sh", "-c",
                         "exec " PACELINE_BINARY " run scenario.yaml --json /dev/fd/3 --csv "
                         "/proc/self/fd/3 3>both"},
                        folder_.path())
                .exit_code,
            2);
  const Ended two = run({"run", "scenario.yaml", "--json", "-", "--csv", "/dev/stdout"});
  expect_refused(two, "paceline: -: standard output takes one of --json, --csv");
}

TEST_F(Outputs, NeverTakeThePlaceOfASecret) {
  folder_.write("secret", "0123456789abcdef");
  std::filesystem::permissions(folder_.path() / "secret", std::filesystem::perms::owner_read |
                                                              std::filesystem::perms::owner_write);
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"measure", "scenario.yaml"},
        {"run", "scenario.yaml", "--measure"},
        {"collective", "--measure", "--backend", "memory", "--mode", "plan", "--algorithm", "ring",
         "--gpus", "2", "--max", "1KiB"}}) {
    auto arguments = command;
    arguments.insert(arguments.end(), {"--secret-file", "secret", "--json", "./secret"});
    expect_refused(run(arguments),
                   "paceline: secret: is an input, and would be overwritten as ./secret");
    arguments.back() = "other";
    expect_refused(run(arguments), "paceline: --secret-file: is for ranks that a launcher starts");
    EXPECT_EQ(text("secret"), "0123456789abcdef");
  }
}

TEST_F(Outputs, AreEachAFileOfTheirOwn) {
  const std::string same = ": is named for two outputs; give each a file of its own";
  expect_refused(run({"run", "scenario.yaml", "--json", "a", "--csv", "./a"}),
                 "paceline: ./a" + same);
  expect_refused(run({"run", "scenario.yaml", "--json", "z", "--timeline", "z"}),
                 "paceline: z" + same);
  expect_refused(run({"run", "scenario.yaml", "--json", "z", "--chakra", "z"}),
                 "paceline: z" + same);
  expect_refused(run({"run", "scenario.yaml", "--json", "-", "--csv", "-"}),
                 "paceline: -: standard output takes one of --json, --csv; write the others to "
                 "files");
  const Ended shared = run_program(
      {"/bin/sh", "-c", std::string(PACELINE_BINARY) + " run scenario.yaml --json both > both"},
      folder_.path());
  EXPECT_EQ(shared.exit_code, 2);
  EXPECT_EQ(shared.err,
            "paceline: both: is standard output or standard error, too; give each a file of its "
            "own\n");
}

// As on a full disk: a file may have so many bytes only.
TEST_F(Outputs, KeepWhatWasThereWhenTheDiskIsFull) {
  const std::string before = text("result.json");
  const Ended ended =
      run_program({"/bin/sh", "-c",
                   "ulimit -f 1; exec " PACELINE_BINARY " run scenario.yaml --json result.json"},
                  folder_.path());
  EXPECT_EQ(ended.exit_code, 3) << "signal " << ended.signal;
  EXPECT_EQ(ended.err, "paceline: result.json: cannot be written: File too large\n");
  EXPECT_EQ(text("result.json"), before);
}

TEST_F(Outputs, MayBeStreams) {
  const std::string program = PACELINE_BINARY " run scenario.yaml --json ";
  for (const char* how : {"/dev/stdout", "/dev/fd/3 3>&1", ">(cat)"}) {
    const Ended ended = run_program({"/bin/bash", "-c", program + how + "; wait"}, folder_.path());
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    EXPECT_NE(ended.out.find("paceline.result/1"), std::string::npos) << how;
  }
  const Ended help =
      run_program({"/bin/sh", "-c", PACELINE_BINARY " --help > /dev/full"}, folder_.path());
  EXPECT_EQ(help.exit_code, 3);
}

TEST_F(Outputs, AreTriedBeforeAnythingIsRun) {
  const Ended ended = run({"run", "nowhere.yaml", "--json", "no/folder.json"});
  expect_refused(ended, "paceline: no/folder.json: cannot be written");
}

}  // namespace outputs_test
}  // namespace paceline::test
