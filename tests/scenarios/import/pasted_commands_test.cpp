// What commands say of logs as people paste them: what they fit, refuse or ask for
// (tests/traces/formats/pasted_logs_test.cpp has what is read).

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/scenarios/import/pasted.h"

namespace paceline::test {
namespace {

struct PastedCommand {
  const char* name;  // of the test
  const char* file;
  Said said;
};

void PrintTo(const PastedCommand& command, std::ostream* out) { *out << command.file; }

Said import_says(int exit_code, std::vector<std::string> says = {}) {
  return {{"import", "FILE"}, exit_code, std::move(says), {"no known format"}};
}

Said calibrate(std::vector<std::string> more, int exit_code, std::vector<std::string> says = {}) {
  std::vector<std::string> all{"calibrate", "FILE", "-o", "/dev/null"};
  all.insert(all.end(), more.begin(), more.end());
  return {all, exit_code, std::move(says)};
}

// Four sizes are too few to fit, which takes six: calibrate refuses them whatever they are.
std::vector<PastedCommand> pasted_commands() {
  const std::vector<std::string> asks{"--collective", "all_gather", "all_to_all"};
  const std::vector<std::string> fits_one{"sendrecv", "fitted to 7 samples"};
  const std::vector<std::string> reason{"unhandled system error"};  // as NCCL printed it
  const Said all_gather = calibrate({"--collective", "all_gather"}, 0);
  return {
      {"TagOutput", "prefix-tag-output.txt", calibrate({}, 0)},
      {"SrunLabel", "prefix-srun-label.txt", calibrate({}, 0)},
      {"RayAndTag", "prefix-ray-and-tag.txt", calibrate({}, 0)},
      {"NoHashSigns", "no-hash-signs.txt", calibrate({}, 0)},
      {"Unlabelled", "unlabelled-collective.txt", calibrate({}, 2, asks)},
      {"RatioAsks", "ratio-contradicts-collective.txt", calibrate({}, 2, asks)},
      {"RatioContradicts", "ratio-contradicts-collective.txt",
       calibrate({"--collective", "all_reduce"}, 2, {"all_gather"})},
      {"RatioAgrees", "ratio-contradicts-collective.txt", all_gather},
      {"OldAllGather", "old-columns-all_gather.txt", all_gather},
      {"OldBroadcast", "old-columns-broadcast.txt", calibrate({}, 0)},
      {"OneRunPerSize", "one-run-per-size.txt", calibrate({}, 0)},
      {"ExchangeBeside", "sendrecv-called-all_reduce.txt", calibrate({}, 0, fits_one)},
      {"ExchangeIsNoAllReduce", "sendrecv-called-all_reduce.txt",
       calibrate({"--collective", "all_reduce"}, 0, fits_one)},
      {"ListOfAnother", "list-of-another-log.txt", calibrate({}, 2)},
      {"ListCut", "list-cut.txt", calibrate({"--gpus", "16", "--nodes", "2"}, 0)},
      {"TwoRanksOnOneGpu", "two-ranks-on-one-gpu.txt", import_says(0, {"one GPU"})},
      {"OneHostNameAsks", "one-host-name-twice.txt", calibrate({}, 2, {"--nodes"})},
      {"OneHostNameTold", "one-host-name-twice.txt", calibrate({"--nodes", "2"}, 0)},
      {"Osu", "osu-allreduce.txt", calibrate({"--gpus", "16", "--nodes", "2"}, 0)},
      {"Imb", "imb-allreduce.txt", calibrate({"--nodes", "2"}, 0)},
      {"FailedImport", "failed-run.txt", import_says(2, reason)},
      {"FailedCalibrate", "failed-run.txt", calibrate({}, 2, reason)},
      {"NoRowsImport", "log-without-rows.txt", import_says(2, reason)},
      {"NoRowsCalibrate", "log-without-rows.txt", calibrate({}, 2, reason)},
      {"PingPongImport", "imb-pingpong.txt", import_says(0, {"calibrate", "--between"})},
      {"PingPong", "imb-pingpong.txt", calibrate({"--between", "nodes"}, 0)},
      {"CutTail", "cut-tail.txt", import_says(0, {"cut-tail.txt:13"})},
      {"InfoMixed", "nccl-info-mixed.txt", import_says(0, {"4 lines of NCCL's log"})},
      {"TwoJobs", "inspector-two-jobs-at-once.log", import_says(0)},
      {"PrettyInspector", "inspector-pretty-json.log", calibrate({}, 0)},
  };
}

class PastedCommands : public testing::TestWithParam<PastedCommand> {};

TEST_P(PastedCommands, SayWhatIsFittedOrAsked) { expect_said(GetParam().file, GetParam().said); }

INSTANTIATE_TEST_SUITE_P(Files, PastedCommands, testing::ValuesIn(pasted_commands()),
                         [](const auto& one) { return one.param.name; });

// A folder of the log alone is the log.
TEST(PastedFolder, IsTakenByCalibrateAsByImport) {
  const Folder folder;
  std::filesystem::create_directory(folder.path() / "logs");
  std::filesystem::copy_file(pasted_folder + "inspector-two-jobs-at-once.log",
                             folder.path() / "logs" / "a.log");
  for (const char* command : {"import", "calibrate"}) {
    SCOPED_TRACE(command);
    std::vector<std::string> arguments{command, "logs"};
    if (arguments.front() == "calibrate") arguments.insert(arguments.end(), {"-o", "/dev/null"});
    const Ended ended = paceline(arguments, folder.path());
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
  }
}

}  // namespace
}  // namespace paceline::test
