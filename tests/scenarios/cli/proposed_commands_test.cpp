// Every command that an output of paceline proposes works as it is typed: a text `paceline ...` of
// what any command writes, refusals among it.

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "scenarios/cli/command.h"
#include "tests/scenarios/loader/job/small_job.h"
#include "tests/scenarios/process.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline::test::proposed_commands {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view measured_rows = R"(sweep: {gpus: [2, 4]}
measured: {source: a test, points: [{gpus: 2, step: 14ms}, {gpus: 4, step: 90ms}]}
)";

// Of every command what it answers and what it refuses; later ones read what earlier ones wrote.
constexpr std::string_view typed = R"(
run 'my own.yaml' --quiet --assumptions --json result.json --trace run.trace
run network.yaml --quiet
run job.yaml
run result.json
run 'my own.yaml' --explain-cluster
run
check 'my own.yaml'
strategies network.yaml --quiet
collective dgx1-v100 --max 2KiB --quiet
collective nothing
nccl dgx1-v100 --max 2KiB
nccl
replay run.trace --quiet
replay run.trace --gpus 8
replay result.json
replay $fixtures/kineto/with_metadata.json --quiet
measure small.yaml --backend memory --mode plan --steps 2 --quiet --json measured.json
compare measured.json
compare result.json measured.json
compare 'my own.yaml'
validate 'my own.yaml' --quiet
validate $library/logs/abci-v100-8gpu.csv
validate $library/logs/abci-v100-8gpu.csv --preset dgx1-v100 --quiet
report 'my own.yaml' -o report.html
report result.json -o report.html
claims one-gpu-costs-nothing
claims nothing
advise 'my own.yaml' --quiet --assumptions
advise network.yaml --point gpus=8 --quiet
advise run.trace
explain network.yaml --quiet
capacity job.yaml --quiet
capacity network.yaml
init --model resnet18 --preset dgx1-v100 --gpus 8 -o new.yaml
init --model resnet18 --preset dgx1-v100 --gpus 8 -o new.yaml
init --trace run.trace -o traced.yaml
topology $fixtures/topology/dgx_a100.txt
topology small.yaml
calibrate $library/logs/abci-v100-8gpu.csv -o fit.yaml --quiet
calibrate result.json -o fit.yaml
run fit.yaml
import 'my own.yaml'
import job.yaml
import result.json
import measured.json
import run.trace
import fit.yaml
import $fixtures/kineto/with_metadata.json
import $fixtures/ping_pong/osu_latency.txt
import $fixtures/topology/dgx_a100.txt
import $fixtures/ddp_logging/two_ranks.txt
doctor
list
list nothing
buckets resnet18
buckets nothing.txt
sweep small.yaml --store points.db --quiet
sweep --store all.db --merge points.db --csv points.csv
sweep small.yaml
report points.db -o report.html
schema nothing
completion nothing
runn 'my own.yaml'
run small.yaml --jsn
)";

// A word of a proposal that stands for a file that the user has yet to make: in capitals, or a
// pattern of the names of several.
bool is_to_come(const std::string& word) {
  static const std::regex capitals("[A-Z_]{2,}(\\.[a-z-]+)?");
  return std::regex_match(word, capitals) || word.find('*') != word.npos;
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

// A sentence about a command goes on with its verb, or has a word before it that wants a noun.
bool is_mention(const std::vector<std::string>& words, const std::string& before) {
  static const std::set<std::string> verbs{"fits", "takes", "wrote", "writes", "makes", "says"};
  static const std::set<std::string> prepositions{"in", "for", "and", "of", "by", "to", "with"};
  if (words.size() > 1) return verbs.contains(words[1]);
  const auto last = words_of(before);
  return !last.empty() && prepositions.contains(last.back());
}

struct Proposed {
  std::set<std::string> commands;  // as typed
  std::size_t to_come = 0;

  void add_from(const std::string& output) {
    static const std::regex begin("(^|[^-/a-z`])paceline ((--)?[a-z]+)(?=[ ;]|$)");
    std::istringstream lines(output);
    for (std::string line; std::getline(lines, line);) {
      for (std::sregex_iterator at(line.begin(), line.end(), begin), end; at != end; ++at) {
        const auto first = static_cast<std::size_t>(at->position(2));
        add(line.substr(first, line.find("; ", first) - first), line.substr(0, first - 9));
      }
    }
  }

 private:
  void add(const std::string& command, const std::string& before) {
    const auto words = words_of(command);
    const bool is_known = words.front().starts_with("--") ||
                          std::ranges::find(cli::commands(), words.front(), &cli::Command::name) !=
                              cli::commands().end();
    if (!is_known || is_mention(words, before)) return;
    if (std::ranges::any_of(words, is_to_come)) {
      ++to_come;
    } else {
      commands.insert(command);
    }
  }
};

Ended type(const std::string& command, const Folder& folder) {
  const std::string shell = "fixtures=" PACELINE_SOURCE_DIR
                            "/tests/fixtures library=" PACELINE_SOURCE_DIR
                            "/scenarios/library; exec " PACELINE_BINARY " " +
                            command;
  return run_program({"/bin/bash", "-c", shell}, folder.path(), 60);
}

TEST(ProposedCommands, WorkAsTyped) {
  const Folder folder;
  folder.write("small.yaml", small_scenario);
  folder.write("my own.yaml", changed(small_scenario, "", measured_rows));
  folder.write("network.yaml", R"(schema: paceline/1
name: of a network
workload: {model: resnet18, batch_per_gpu: 32, device: v100-sxm2-16gb}
cluster: {preset: dgx1-v100}
training: {strategy: ddp}
sweep: {gpus: [2, 8]}
)");
  folder.write("two.yaml", two_machines);
  folder.write("job.yaml", short_job);
  std::set<std::string> open;
  for (const cli::Command& command : cli::commands()) open.emplace(command.name);
  Proposed proposed;
  std::istringstream lines{std::string(typed)};
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) continue;
    const Ended ended = type(line, folder);
    EXPECT_TRUE(ended.exit_code >= 0 && ended.exit_code <= 2) << line << ": " << ended.err;
    open.erase(line.substr(0, line.find(' ')));
    proposed.add_from(ended.out + ended.err);
  }
  EXPECT_TRUE(open.empty()) << "without a line here: " << *open.begin();
  proposed.add_from(text_of(folder.path() / "new.yaml"));
  for (const std::string& command : proposed.commands) {
    const Ended ended = type(command, folder);
    EXPECT_EQ(ended.exit_code, 0) << "paceline " << command << ": " << ended.err;
  }
  EXPECT_GE(proposed.commands.size(), 20U);
  EXPECT_GE(proposed.to_come, 3U);
}

}  // namespace
}  // namespace paceline::test::proposed_commands
