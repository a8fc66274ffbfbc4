#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "tests/scenarios/loader/bad_scenarios.h"
#include "tests/scenarios/process.h"
#include "tests/scenarios/refused.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline::test {
namespace bad_input_test {

class BadScenarios : public testing::TestWithParam<BadScenario> {};

TEST_P(BadScenarios, AreRefusedInOneLineThatPointsAtThem) { expect_refused_there(GetParam()); }

const BadScenario yaml[] = {
    {"MapInAValue", "", "ranks: a@: b\n", "is not YAML: "},
    {"AliasWithoutAnchor", "", "ranks: @*nowhere\n", "is not YAML: "},
    {"ListThatDoesNotEnd", "", "ranks: [1, 2\n@", "is not YAML: "},
    {"SecondDocument", "", "@---\nname: another\n", "starts a second document; keep one a file"},
    {"SecondDocumentWithNothingInIt", "", "@---\n", "starts a second document"},
    {"SecondDocumentAfterAnEnd", "", "...\n@name: another\n", "starts a second document"},
    {"SecondDocumentThatIsNotYaml", "", "@---\nranks: [1, 2\n", "starts a second document"},
    {"TabForIndentation", "", "\t@ranks: 3\n", "is not YAML: "},
};

std::string name_of(const testing::TestParamInfo<BadScenario>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(AlgorithmOptions, BadScenarios, testing::ValuesIn(bad_algorithm_options),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Keys, BadScenarios, testing::ValuesIn(bad_keys), name_of);
INSTANTIATE_TEST_SUITE_P(Quantities, BadScenarios, testing::ValuesIn(bad_quantities), name_of);
INSTANTIATE_TEST_SUITE_P(Clusters, BadScenarios, testing::ValuesIn(bad_clusters), name_of);
INSTANTIATE_TEST_SUITE_P(Fabrics, BadScenarios, testing::ValuesIn(bad_fabrics), name_of);
INSTANTIATE_TEST_SUITE_P(Names, BadScenarios, testing::ValuesIn(bad_names), name_of);
INSTANTIATE_TEST_SUITE_P(Sweeps, BadScenarios, testing::ValuesIn(bad_sweeps), name_of);
INSTANTIATE_TEST_SUITE_P(Yaml, BadScenarios, testing::ValuesIn(yaml), name_of);

// Files that are no scenarios at all.

// The limits of these: what a run of a small scenario takes is 10 ms and 6 MiB.
void expect_cheap(const Ended& ended) {
  EXPECT_LT(ended.cpu_seconds, 5);
  EXPECT_TRUE(is_sanitized || ended.peak_kib < 512 * 1024) << ended.peak_kib;
}

class BadFiles : public testing::Test {
 protected:
  // What a run of the text says.
  Ended run(std::string_view text) {
    folder_.write("bad.yaml", text);
    return paceline({"run", "bad.yaml"}, folder_.path());
  }

  Folder folder_;
};

TEST_F(BadFiles, MayBeMissing) {
  expect_refused(paceline({"run", "nowhere.yaml"}, folder_.path()),
                 "paceline: nowhere.yaml: cannot be read: No such file or directory");
}

TEST_F(BadFiles, MayBeFolders) {
  expect_refused(paceline({"run", "."}, folder_.path()),
                 "paceline: .: cannot be read: Is a directory");
}

// An endless file is read as far as the limit.
TEST_F(BadFiles, MayNeverEnd) {
  for (const char* endless : {"/dev/zero", "/dev/urandom"}) {
    const Ended ended = paceline({"run", endless}, folder_.path());
    expect_refused(ended, std::string("paceline: ") + endless + ": is not a text file: byte ");
    expect_cheap(ended);
  }
}

TEST_F(BadFiles, MayBeEmpty) {
  expect_refused(run(""), "paceline: bad.yaml: is not a scenario; write schema: paceline/1");
}

TEST_F(BadFiles, MayBeAListOrAWord) {
  expect_refused(run("- a\n- b\n"), "paceline: bad.yaml: is not a scenario");
  expect_refused(run("hello\n"), "paceline: bad.yaml: is not a scenario");
}

TEST_F(BadFiles, MayBePrograms) {
  expect_refused(run(text_of(PACELINE_BINARY).substr(0, 4096)),
                 "paceline: bad.yaml: is not a text file: byte ");
}

// Offset 26: "schema: paceline/1\n" has 19 bytes, "name: a" 7.
TEST_F(BadFiles, MayHoldANulByte) {
  using namespace std::string_literals;
  expect_refused(run("schema: paceline/1\nname: a\0b\n"s),
                 "paceline: bad.yaml: is not a text file: byte 26 is 0");
}

TEST_F(BadFiles, MayBeLargerThanOneMebibyte) {
  const std::string text(small_scenario);
  expect_refused(run(text + "#" + std::string(1 << 20, 'x') + "\n"),
                 "paceline: bad.yaml: is larger than 1MiB");
}

TEST_F(BadFiles, MayBeOneMebibyteOfAKnownScenario) {
  std::string text(small_scenario);
  text += fmt::format("#{}\n", std::string((1 << 20) - text.size() - 2, 'x'));
  EXPECT_EQ(run(text).exit_code, 0);
}

// Nine levels of ten aliases each stand for 10^10 values, some 100 GiB when written out.
TEST_F(BadFiles, MayBeBombsOfAliases) {
  std::string text(small_scenario);
  text += "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int level = 1; level <= 9; ++level) {
    const std::vector<std::string> above(10, fmt::format("*a{}", level - 1));
    text += fmt::format("a{0}: &a{0} [{1}]\n", level, fmt::join(above, ", "));
  }
  const Ended ended = run(text);
  expect_refused(ended, "paceline: bad.yaml:21:");  // a4, the first above 100,000 values
  EXPECT_NE(ended.err.find("stands for more than 100000 values"), std::string::npos) << ended.err;
  expect_cheap(ended);
}

TEST_F(BadFiles, MayHaveTooManyValues) {
  std::string text = std::string(small_scenario) + "many: [x";
  for (int i = 0; i < 100'000; ++i) text += ", x";
  const Ended ended = run(text + "]\n");
  EXPECT_NE(ended.err.find("has more than 100000 values; split it into several files"),
            std::string::npos)
      << ended.err;
}

TEST_F(BadFiles, MayNestTooDeeply) {
  for (const auto& [open, close] :
       {std::pair{"[", "]"}, std::pair{"{a: ", "}"}, std::pair{"- ", ""}, std::pair{"? ", ""}}) {
    std::string text;
    for (int i = 0; i < 10'000; ++i) text += open;
    for (int i = 0; i < 10'000; ++i) text += close;
    const Ended ended = run(text + "\n");
    expect_refused(ended, "paceline: bad.yaml");
    expect_cheap(ended);
  }
}

TEST_F(BadFiles, MayHoldMoreValuesThanTheLimit) {
  std::string text = "[a";
  for (int i = 0; i < 100'000; ++i) text += ",a";
  const Ended ended = run(text + "]\n");
  expect_refused(ended, "paceline: bad.yaml:1:");
  expect_cheap(ended);
}

// 1,000 x 1,000 x 1,000 points.
TEST_F(BadFiles, MaySweepOverABillionPoints) {
  std::string gpus, batches, latencies;
  for (int i = 1; i <= 1000; ++i) {
    gpus += fmt::format("{}, ", 2 * i);
    batches += fmt::format("{}, ", i);
    latencies += fmt::format("{}us, ", i);
  }
  const Ended ended =
      run(changed(small_scenario, "",
                  "sweep:\n  gpus: [" + gpus + "]\n  workload.batch_per_gpu: [" + batches +
                      "]\n  cluster.network.latency: [" + latencies + "]\n"));
  expect_refused(ended, "paceline: bad.yaml:19:28: ");
  EXPECT_NE(ended.err.find("1000 x 1000 x 1000 points; run takes at most 100000 points"),
            std::string::npos)
      << ended.err;
  expect_cheap(ended);
}

// A ring all-reduce of 8,000 GPUs has 2 x 7,999 rounds of 8,000 transfers: 1.28e8.
TEST_F(BadFiles, MayAskForMoreTransfersThanAreSimulatedUnforced) {
  const std::string wide = changed(small_scenario, "  nodes: 2", "  nodes: 4000");
  const Ended ended = run(changed(wide, "fidelity: folded", "fidelity: flow"));
  expect_refused(ended, "paceline: bad.yaml: 8000 GPUs take 6.43e+07 simulated transfers, about ");
  EXPECT_NE(ended.err.find("fidelity: folded"), std::string::npos) << ended.err;
  EXPECT_NE(ended.err.find("--force"), std::string::npos) << ended.err;
  expect_cheap(ended);
}

// Every message is one line and harmless to a terminal, whatever it repeats of the file.
TEST_F(BadFiles, CannotWriteControlCharactersToTheTerminal) {
  const Ended ended =
      run(changed(small_scenario, "strategy: bulk_synchronous", "strategy: \"a\\e[31m\\n\\rb\""));
  expect_refused(ended, "paceline: bad.yaml:14:22: strategy \"a?[31m??b\" has a control character");
}

// Command lines.

struct BadCommand {
  const char* name;
  std::vector<std::string> arguments;  // "FILE" stands for a good scenario's path
  const char* message;
};

void PrintTo(const BadCommand& bad, std::ostream* out) { *out << bad.name; }

class BadCommands : public testing::TestWithParam<BadCommand> {};

TEST_P(BadCommands, AreRefusedInOneLine) {
  const Folder folder;
  auto arguments = GetParam().arguments;
  std::replace(arguments.begin(), arguments.end(), std::string("FILE"),
               folder.write("good.yaml", small_scenario));
  expect_refused(paceline(arguments, folder.path()),
                 std::string("paceline: ") + GetParam().message);
}

const BadCommand settings[] = {
    {"SettingOfAnUnknownKey",
     {"run", "FILE", "--set", "cluster.network.latnecy=5us"},
     "--set cluster.network.latnecy=5us: unknown key \"cluster.network.latnecy\"; did you mean "
     "latency?"},
    {"SettingOfAnUnknownSection",
     {"run", "FILE", "--set", "clutser.nodes=2"},
     "--set clutser.nodes=2: unknown key \"clutser\"; did you mean cluster?"},
    {"SettingOfAnUnknownAxis",
     {"run", "FILE", "--set", "sweep.cluster.nodse=[1, 2]"},
     "--set sweep.cluster.nodse=[1, 2]: unknown key \"cluster.nodse\"; did you mean nodes?"},
    {"SettingWithoutEquals",
     {"run", "FILE", "--set", "cluster.network.latency"},
     "--set cluster.network.latency: is not path=value; write --set cluster.network.latency=5us"},
    {"SettingWithoutPath", {"run", "FILE", "--set", "=5us"}, "--set =5us: is not path=value"},
    {"SettingWithoutUnit",
     {"run", "FILE", "--set", "cluster.network.latency=5"},
     "--set cluster.network.latency=5: latency \"5\" has no unit; write 5us or 5ms"},
    {"SettingOfNothing",
     {"run", "FILE", "--set", "training.wrap="},
     "--set training.wrap=: leaves out what "},
    {"SettingThatIsNotYaml", {"run", "FILE", "--set", "sweep.gpus=[2,"}, "--set sweep.gpus=[2,:"},
    {"SettingOfAnEmptyAxis",
     {"run", "FILE", "--set", "sweep.gpus=[]"},
     "--set sweep.gpus=[]: gpus is an empty list"},
    {"SettingBelowAValue",
     {"run", "FILE", "--set", "cluster.network.latency.x=5us"},
     "--set cluster.network.latency.x=5us: "},
    {"SettingOfASectionToAValue",
     {"run", "FILE", "--set", "cluster.network=5"},
     "--set cluster.network=5: network \"5\" is not a map"},
    {"SettingOfALayerThatIsNotThere",
     {"run", "FILE", "--set", "workload.layers.9.forward=5ms"},
     "--set workload.layers.9.forward=5ms: "},
    {"SettingOfTheMeasuredPoints",
     {"run", "FILE", "--set", "measured.source=me"},
     "--set measured.source=me: "},
    {"SettingOfTheWholeSweep", {"run", "FILE", "--set", "sweep=[2, 4]"}, "--set sweep=[2, 4]: "},
    {"SeedThatIsNoNumber", {"run", "FILE", "--seed", "x"}, "--seed x: seed \"x\" is not a number"},
};

const BadCommand usage[] = {
    {"NoArguments", {}, ""},
    {"UnknownCommand", {"rnu", "FILE"}, ""},
    {"NoScenario", {"run"}, ""},
    {"TwoScenarios", {"run", "FILE", "FILE"}, ""},
    {"UnknownOption", {"run", "FILE", "--jsno", "-"}, ""},
    {"OptionWithoutValue", {"run", "FILE", "--json"}, ""},
    {"JobsThatAreNoNumber", {"run", "FILE", "--jobs", "two"}, ""},
    {"NegativeJobs", {"run", "FILE", "--jobs=-1"}, ""},
    {"MoreJobsThanAnyMachineHasCores", {"run", "FILE", "--jobs", "100000"}, ""},
    {"TwoResultsOnStandardOutput",
     {"run", "FILE", "--json", "-", "--csv", "-"},
     "-: standard output takes one of "},
    {"ExplanationOfAClusterBesideAResult", {"run", "FILE", "--explain-cluster", "--json", "-"}, ""},
    {"CollectiveFromLargeToSmall",
     {"collective", "dgx1-v100", "--min", "2MiB", "--max", "1MiB"},
     "--max: is below --min"},
    {"MeanErrorThatIsNoNumber", {"validate", "FILE", "--max-mean-error", "x"}, ""},
    {"MeanErrorThatIsNotANumber", {"validate", "FILE", "--max-mean-error", "nan"}, ""},
    {"ValidationWithoutMeasuredPoints", {"validate", "FILE"}, ""},
    {"BucketsOfAnUnknownModel",
     {"buckets", "resnet19"},
     "command line: model \"resnet19\" is not known; did you mean resnet18? known: "},
    {"BucketCapWithoutUnit",
     {"buckets", "resnet18", "--bucket-cap", "25"},
     "command line: bucket_cap \"25\" has no unit; write 25MiB or 25MB"},
    {"CollectiveOnAnUnknownCluster",
     {"collective", "dgx1-v101"},
     "command line: preset \"dgx1-v101\" is not known; did you mean dgx1-v100? known: "},
    {"UnknownCollective",
     {"collective", "dgx1-v100", "--collective", "all_redcue"},
     "--collective: \"all_redcue\" is not known; known: all_reduce, "},
    {"CollectiveOfAnUnknownAlgorithm",
     {"collective", "dgx1-v100", "--algorithm", "rnig"},
     "command line: algorithm \"rnig\" is not known; did you mean ring? known: "},
    {"CollectiveSizeWithoutUnit",
     {"collective", "dgx1-v100", "--max", "1024"},
     "--max: \"1024\" has no unit; write 1024MiB or 1024MB"},
    {"CollectiveWithAnUnknownInnerAlgorithm",
     {"collective", "dgx1-v100", "--algorithm", "hierarchical", "--inner", "rnig"},
     "command line: inner \"rnig\" is not known; did you mean ring?"},
    {"CollectiveThatNeverGrows", {"collective", "dgx1-v100", "--factor", "1"}, "--factor: "},
};

std::string command_name(const testing::TestParamInfo<BadCommand>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Settings, BadCommands, testing::ValuesIn(settings), command_name);
INSTANTIATE_TEST_SUITE_P(Usage, BadCommands, testing::ValuesIn(usage), command_name);

}  // namespace bad_input_test
}  // namespace paceline::test
