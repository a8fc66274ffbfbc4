// What `paceline` does when its executor is missing, dies, hangs on to life or talks nonsense.

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tests/scenarios/process.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline::test {
namespace executor_test {

namespace fs = std::filesystem;
using nlohmann::json;

struct Process {
  pid_t id, parent;
};

// The processes that were started from a program in this folder.
std::vector<Process> processes_of(const fs::path& folder) {
  std::vector<Process> found;
  std::error_code gone;
  for (const auto& entry : fs::directory_iterator("/proc", gone)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (text_of(entry.path() / "cmdline").find(folder.string()) == std::string::npos) continue;
    // "pid (name) state parent ...": the name may hold anything, so from the last parenthesis.
    const std::string stat = text_of(entry.path() / "stat");
    std::istringstream rest(stat.substr(std::min(stat.rfind(')') + 1, stat.size())));
    char state = 'Z';
    pid_t parent = 0;
    rest >> state >> parent;
    if (state != 'Z') found.push_back({static_cast<pid_t>(std::stol(name)), parent});
  }
  return found;
}

// Whether it comes to hold, on a machine however busy.
bool comes(const std::function<bool()>& holds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

// Both programs copied into a folder, where the executor can be changed.
class Executor : public testing::Test {
 protected:
  Executor() {
    fs::copy_file(PACELINE_BINARY, folder_.path() / "paceline");
    fs::copy_file(PACELINE_SIM_BINARY, folder_.path() / "paceline-sim");
    folder_.write("flow.yaml", changed(small_scenario, "fidelity: folded", "fidelity: flow"));
    folder_.write("folded.yaml", small_scenario);
    // A ring of 800 GPUs: 2 x 799 rounds of 800 transfers, seconds of simulation; then a short one.
    folder_.write("long.yaml",
                  changed(changed(small_scenario, "fidelity: folded", "fidelity: flow"), "",
                          "sweep: {gpus: [800, 2]}\n"));
  }
  // Nothing that a test started is left, even when the test fails.
  ~Executor() override {
    for (const Process& process : processes_of(folder_.path())) ::kill(process.id, SIGKILL);
  }

  void replace_executor(const std::string& script) {
    fs::remove(folder_.path() / "paceline-sim");
    folder_.write("paceline-sim", "#!/bin/sh\n" + script);
    fs::permissions(folder_.path() / "paceline-sim", fs::perms::owner_all);
  }

  Ended run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), program());
    arguments.insert(arguments.begin() + 1, "run");
    return run_program(arguments, folder_.path());
  }

  std::string program() const { return (folder_.path() / "paceline").string(); }
  bool nothing_runs() const { return processes_of(folder_.path()).empty(); }

  // Starts a run and waits until its first simulation, a grandchild, is under way. `json` is where
  // its result goes, beside standard output's out.json.
  pid_t start_long_run(const char* scenario = "long.yaml", const char* result = "-") {
    const std::string path = program(), folder = folder_.path().string();
    const pid_t child = ::fork();
    if (child == 0) {
      const int out = ::open((folder + "/out.json").c_str(), O_WRONLY | O_CREAT, 0600);
      const int err = ::open((folder + "/err").c_str(), O_WRONLY | O_CREAT, 0600);
      if (::chdir(folder.c_str()) != 0 || ::dup2(out, 1) < 0 || ::dup2(err, 2) < 0) std::_Exit(126);
      ::execl(path.c_str(), path.c_str(), "run", scenario, "--json", result, "--jobs", "1",
              nullptr);
      std::_Exit(127);
    }
    EXPECT_TRUE(comes([&] { return simulation(child) != 0; }));
    return child;
  }

  // The grandchild of a run; 0 when there is none.
  pid_t simulation(pid_t of_run) const {
    const auto processes = processes_of(folder_.path());
    for (const Process& server : processes) {
      if (server.parent != of_run) continue;
      for (const Process& process : processes) {
        if (process.parent == server.id) return process.id;
      }
    }
    return 0;
  }

  Folder folder_;
};

void expect_environment_trouble(const Ended& ended, const std::string& about) {
  EXPECT_EQ(ended.exit_code, 3) << "signal " << ended.signal << ": " << ended.err;
  EXPECT_NE(ended.err.find(about), std::string::npos) << ended.err;
  EXPECT_EQ(ended.err.rfind("paceline: ", 0), 0U) << ended.err;
}

TEST_F(Executor, IsLookedForBesideTheProgram) {
  const Ended ended = run({"flow.yaml"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_TRUE(nothing_runs());
}

TEST_F(Executor, IsNamedWhenItIsMissing) {
  fs::remove(folder_.path() / "paceline-sim");
  const Ended ended = run({"flow.yaml"});
  expect_environment_trouble(ended, (folder_.path() / "paceline-sim").string());
  EXPECT_NE(ended.err.find("No such file or directory"), std::string::npos) << ended.err;
  EXPECT_EQ(std::count(ended.err.begin(), ended.err.end(), '\n'), 1) << ended.err;
  EXPECT_EQ(ended.out, "");
}

// Without SimGrid a folded prediction is not checked, and stands all the same.
TEST_F(Executor, IsNeededForTheCheckOfAFoldedPointAlone) {
  const Ended checked = run({"folded.yaml", "--json", "-"});
  EXPECT_EQ(json::parse(checked.out).at("points").at(0).at("checked_by"), "simgrid");
  EXPECT_NE(run({"folded.yaml"}).out.find("SimGrid agrees at 4 GPUs"), std::string::npos);
  for (const char* script : {"exit 1\n", "read line; kill -9 $$\n", "echo nonsense\n"}) {
    replace_executor(script);
    const Ended ended = run({"folded.yaml"});
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    EXPECT_NE(ended.out.find("not checked: paceline-sim "), std::string::npos) << ended.out;
  }
  fs::remove(folder_.path() / "paceline-sim");
  const Ended missing = run({"folded.yaml", "--json", "-"});
  EXPECT_EQ(missing.exit_code, 0) << missing.err;
  EXPECT_TRUE(json::parse(missing.out).at("points").at(0).at("checked_by").is_null());
}

// Whichever of its requests it dies at: no row is left out, and none is a refusal.
TEST_F(Executor, EndsAnExplanationThatItLeavesWithoutAPart) {
  fs::rename(folder_.path() / "paceline-sim", folder_.path() / "simgrid");
  const auto explained = [&](int dies_at) {
    folder_.write("asked", "0");
    replace_executor(
        "while read line; do asked=$(($(cat asked) + 1)); echo $asked > asked; [ $asked = " +
        std::to_string(dies_at) + " ] && exit 1; echo \"$line\" | ./simgrid; done\n");
    return run_program({program(), "explain", "flow.yaml"}, folder_.path());
  };
  EXPECT_EQ(explained(0).exit_code, 0);
  const int asked = std::stoi(text_of(folder_.path() / "asked"));
  ASSERT_GT(asked, 2);
  for (int one = 1; one <= asked; ++one) {
    const Ended ended = explained(one);
    expect_environment_trouble(ended, "paceline-sim died");
    EXPECT_EQ(ended.out, "") << one;
  }
}

// The rows that are left are judged, with how many are missing beside their means; none is a mean
// of 0, and nobody chooses by them what is best for others.
TEST_F(Executor, IsMissedWhereAValidationLosesPoints) {
  const auto write = [&](const char* name, const char* by) {
    folder_.write(name, changed(changed(small_scenario, "fidelity: folded", "fidelity: flow"), "",
                                std::string("sweep: {gpus: [2, 4]}\nmeasured:\n  source: a test\n"
                                            "  by: ") +
                                    by +
                                    "\n  points: [{gpus: 2, throughput: 2200 samples/s}, "
                                    "{gpus: 4, throughput: 3500 samples/s}]\n"));
  };
  write("one.yaml", "one");
  write("other.yaml", "other");
  fs::rename(folder_.path() / "paceline-sim", folder_.path() / "simgrid");
  const auto validated = [&](const std::string& loses, std::vector<std::string> more) {
    replace_executor("while read line; do case $line in " + loses +
                     ") exit 1;; esac; echo \"$line\" | ./simgrid; done\n");
    std::vector<std::string> words{program(), "validate", "one.yaml", "other.yaml", "--jobs", "1"};
    words.insert(words.end(), more.begin(), more.end());
    return run_program(words, folder_.path());
  };
  const std::string of_four = "*'\"nodes\":2,'*", of_all = "*";
  const Ended some = validated(of_four, {});
  EXPECT_EQ(some.exit_code, 3) << some.err;
  EXPECT_NE(some.out.find("all points; 2 points failed and are not among them"), std::string::npos)
      << some.out;
  EXPECT_EQ(some.out.find(" 0.0%"), std::string::npos) << some.out;
  const json lost = json::parse(validated(of_four, {"--json", "-"}).out);
  EXPECT_EQ(lost.at("failed"), 2);
  EXPECT_EQ(lost.at("all").at("paceline").at("points"), 2);
  EXPECT_TRUE(lost.at("headline").at("paceline").at("mean_absolute_percent").is_null());
  const Ended none = validated(of_all, {"--json", "-"});
  EXPECT_EQ(none.exit_code, 3);
  EXPECT_EQ(none.out, "");
  const Ended chosen = validated(of_four, {"--leave-out", "source"});
  EXPECT_EQ(chosen.exit_code, 3);
  EXPECT_EQ(chosen.out, "");
  EXPECT_NE(chosen.err.find("judges nothing where a point failed"), std::string::npos);
}

// The exit code is that of the machine's trouble, though another point was refused before.
TEST_F(Executor, IsToBlameBeforeARefusal) {
  replace_executor(
      "while read line; do case $line in *'\"id\":0,'*) "
      "echo '{\"id\":0,\"failure\":\"large\",\"refused\":true}';; *) exit 1;; esac; done\n");
  const Ended ended = run({"flow.yaml", "--set", "gpus=[2, 4]", "--jobs", "1"});
  expect_environment_trouble(ended, "4 GPUs: paceline-sim died");
}

// A millionth more is a fault, of the step or of its communication.
TEST_F(Executor, EndsARunThatItContradicts) {
  fs::rename(folder_.path() / "paceline-sim", folder_.path() / "simgrid");
  for (const std::string key : {"step_s", "communication_s"}) {
    replace_executor("while read line; do echo \"$line\" | ./simgrid | sed -E 's/\"" + key +
                     "\":[0-9.e-]+/\"" + key + "\":9/'; done\n");
    const Ended ended = run({"folded.yaml", "--json", "result.json"});
    EXPECT_EQ(ended.exit_code, 4) << ended.err;
    EXPECT_NE(ended.err.find("SimGrid disagrees at 4 GPUs: step "), std::string::npos) << ended.err;
    EXPECT_TRUE(fs::exists(folder_.path() / "result.json"));
  }
}

TEST_F(Executor, ChecksNothingWhereThereIsNothingToCheckOrTooMuch) {
  ASSERT_EQ(run({"folded.yaml", "--trace", "step.trace"}).exit_code, 0);
  const Ended known = run_program({program(), "replay", "step.trace"}, folder_.path());
  EXPECT_EQ(known.exit_code, 0) << known.err;
  EXPECT_NE(known.out.find("no transfers to check"), std::string::npos) << known.out;
  const Ended large = run({"folded.yaml", "--set", "cluster.nodes=400"});
  EXPECT_NE(large.out.find("not checked: 1,278,400 transfers"), std::string::npos) << large.out;
}

TEST_F(Executor, MayNotBeExecutable) {
  fs::permissions(folder_.path() / "paceline-sim", fs::perms::owner_read);
  expect_environment_trouble(run({"flow.yaml"}), "Permission denied");
}

TEST_F(Executor, MayDieAtOnceOrWhenItIsAsked) {
  for (const char* script : {"exit 1\n", "read line; exit 0\n", "read line; kill -9 $$\n"}) {
    replace_executor(script);
    const Ended ended = run({"flow.yaml", "--set", "gpus=[1, 2, 4]"});
    expect_environment_trouble(ended, "paceline-sim died");
    EXPECT_TRUE(nothing_runs());
  }
}

TEST_F(Executor, MayTalkNonsense) {
  for (const char* script :
       {"while read line; do echo garbage; done\n", "while read line; do echo '{}'; done\n",
        "while read line; do echo; done\n", "while read line; do echo null; done\n",
        "read line; printf 'no line break'\n", "read line; head -c 100000 /dev/zero; echo\n",
        // A reply to another point.
        "while read line; do echo '{\"id\": 77, \"totals\": {\"step_s\": 1, \"compute_s\": 1, "
        "\"communication_s\": 0, \"exposed_communication_s\": 0}, \"trace\": {\"lanes\": [], "
        "\"classes\": []}, \"transfers\": 0}'; done\n"}) {
    SCOPED_TRACE(script);
    replace_executor(script);
    expect_environment_trouble(run({"flow.yaml"}), "paceline-sim");
    EXPECT_TRUE(nothing_runs());
  }
}

// An executor that hangs is killed, and costs the point that it had; the next one gets another. A
// line longer than a pipe holds, 64 KiB, is not even read: 4,000 slowdowns of ranks take as much.
TEST_F(Executor, IsKilledWhenItIsTooLate) {
  for (const char* script : {"read line; exec sleep 600\n", "exec sleep 600\n",
                             "read line; printf '{'; exec sleep 600\n"}) {
    SCOPED_TRACE(script);
    replace_executor(script);
    const Ended ended =
        run_program({"/usr/bin/env", "PACELINE_SIM_TIMEOUT=0.2", program(), "run", "flow.yaml",
                     "--set", "gpus=[2, 4]", "--jobs", "1", "--json", "-"},
                    folder_.path());
    expect_environment_trouble(
        ended,
        "2 GPUs: paceline-sim was killed: no answer within 0.2 s; "
        "PACELINE_SIM_TIMEOUT sets the seconds it has; done: 0 of 2 points\n");
    const json points = json::parse(ended.out).at("points");
    EXPECT_EQ(points.at(0).at("failure"), points.at(1).at("failure"));
    EXPECT_TRUE(nothing_runs());
  }
  replace_executor("exec sleep 600\n");
  const Ended unread =
      run_program({"/usr/bin/env", "PACELINE_SIM_TIMEOUT=0.2", program(), "run", "flow.yaml",
                   "--set", "cluster.nodes=2000", "--set", "ranks.jitter=1%", "--force"},
                  folder_.path());
  expect_environment_trouble(unread, "4000 GPUs: paceline-sim was killed: no answer within 0.2 s");
}

TEST_F(Executor, MayTakeTheTimeThatItHas) {
  replace_executor(
      "read line; sleep 0.3; echo '{\"id\": 0, \"failure\": \"slow\", \"refused\": false}'\n");
  expect_environment_trouble(run({"flow.yaml"}), "4 GPUs: slow");
}

// Each of 2,048 ranks sends to each other: 4 million flows.
TEST_F(Executor, SaysWhenMemoryRunsOut) {
  if (is_sanitized) GTEST_SKIP() << "sanitizers take memory themselves";
  const std::string command = "ulimit -v 350000; exec " + program() +
                              " run flow.yaml --set cluster.nodes=1024 --force "
                              "--set collective.algorithm=direct";
  const Ended ended = run_program({"/bin/sh", "-c", command}, folder_.path());
  expect_environment_trouble(ended,
                             "the simulation needs more than the 0.33 GiB of memory that it has\n");
}

TEST_F(Executor, HasALimitThatIsATime) {
  for (const char* bad : {"soon", "0", "-1", "5s", "nan"}) {
    const std::string setting = std::string("PACELINE_SIM_TIMEOUT=") + bad;
    const Ended ended =
        run_program({"/usr/bin/env", setting, program(), "run", "flow.yaml"}, folder_.path());
    EXPECT_EQ(ended.exit_code, 2);
    EXPECT_EQ(ended.err,
              std::string("paceline: PACELINE_SIM_TIMEOUT: \"") + bad +
                  "\" is not a time above zero; write a number of seconds, or unset it\n");
  }
}

// The second point is answered as the first one should have been: each reply has its point's id.
TEST_F(Executor, MayAnswerMoreThanItIsAsked) {
  replace_executor(
      "while read line; do echo '{\"id\": 0, \"failure\": \"a\", \"refused\": false}'; "
      "echo '{\"id\": 0, \"failure\": \"b\", \"refused\": false}'; done\n");
  const Ended ended = run({"flow.yaml", "--set", "gpus=[2, 4]", "--jobs", "1", "--json", "-"});
  EXPECT_EQ(ended.exit_code, 3);
  const json points = json::parse(ended.out).at("points");
  EXPECT_EQ(points.at(0).at("failure"), "a");
  EXPECT_NE(points.at(1).at("failure"), "b");
}

// A failure costs its point: the others are predicted, and the JSON says which was not and why.
TEST_F(Executor, CostsOnlyThePointThatItFailed) {
  replace_executor(
      "read line; echo '{\"id\": 0, \"failure\": \"out of luck\", \"refused\": false}'\n");
  const Ended ended =
      run({"flow.yaml", "--set", "sweep.simulation.fidelity=[flow, folded]", "--json", "-"});
  expect_environment_trouble(ended, "4 GPUs, simulation.fidelity=flow: out of luck");
  const json points = json::parse(ended.out).at("points");
  EXPECT_TRUE(points.at(0).at("predicted").is_null());
  EXPECT_EQ(points.at(0).at("failure"), "out of luck");
  EXPECT_TRUE(points.at(1).at("predicted").at("step_s").is_number());
  const Ended table = run({"flow.yaml", "--set", "sweep.simulation.fidelity=[flow, folded]"});
  EXPECT_NE(table.out.find("failed: 4 GPUs, simulation.fidelity=flow: out of luck"),
            std::string::npos)
      << table.out;
  const Ended csv = run({"flow.yaml", "--csv", "-"});
  const auto lines = csv.out.find('\n');
  ASSERT_NE(lines, std::string::npos);
  EXPECT_EQ(std::count(csv.out.begin(), csv.out.begin() + static_cast<std::ptrdiff_t>(lines), ','),
            std::count(csv.out.begin() + static_cast<std::ptrdiff_t>(lines), csv.out.end(), ','));
}

TEST_F(Executor, CostsOnlyThePointWhoseSimulationIsKilled) {
  const pid_t run = start_long_run();
  ::kill(simulation(run), SIGKILL);
  int status = 0;
  ASSERT_EQ(::waitpid(run, &status, 0), run);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 3);
  const json points = json::parse(text_of(folder_.path() / "out.json")).at("points");
  EXPECT_TRUE(points.at(0).at("predicted").is_null());
  EXPECT_EQ(points.at(0).at("failure"), "the simulation was ended by Killed");
  EXPECT_TRUE(points.at(1).at("predicted").at("step_s").is_number());
  EXPECT_EQ(text_of(folder_.path() / "err"),
            "paceline: 800 GPUs: the simulation was ended by Killed; done: 1 of 2 points\n");
  EXPECT_TRUE(nothing_runs());
}

// SimGrid would write about its actors.
TEST_F(Executor, SaysInOneLineWhatInterruptedASimulation) {
  const pid_t run = start_long_run();
  ::kill(simulation(run), SIGINT);
  int status = 0;
  ASSERT_EQ(::waitpid(run, &status, 0), run);
  EXPECT_EQ(WEXITSTATUS(status), 3);
  EXPECT_EQ(text_of(folder_.path() / "err"),
            "paceline: 800 GPUs: the simulation was ended by Interrupt; done: 1 of 2 points\n");
}

// The server between the program and the simulation dies: the next point gets another one.
TEST_F(Executor, IsStartedAgainForTheNextPoint) {
  const pid_t run = start_long_run();
  for (const Process& process : processes_of(folder_.path())) {
    if (process.parent == run) ::kill(process.id, SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(run, &status, 0), run);
  EXPECT_EQ(WEXITSTATUS(status), 3);
  const json points = json::parse(text_of(folder_.path() / "out.json")).at("points");
  EXPECT_EQ(points.at(0).at("failure"), "paceline-sim died");
  EXPECT_TRUE(points.at(1).at("predicted").at("step_s").is_number());
  EXPECT_TRUE(comes([&] { return nothing_runs(); }));
}

// What is done by then is printed and written; the program ends as one that a signal ended.
TEST_F(Executor, ASignalKeepsThePointsThatAreDone) {
  folder_.write("last.yaml",
                changed(text_of(folder_.path() / "long.yaml"), "[800, 2]", "[2, 800]"));
  for (const int signal : {SIGINT, SIGTERM}) {
    const pid_t run = start_long_run("last.yaml", "result.json");
    // What the point of 2 GPUs needs is hundredths of a second.
    ASSERT_TRUE(comes([&] {
      const pid_t process = simulation(run);
      return process != 0 && cpu_seconds(process) > 0.3;
    }));
    ::kill(run, signal);
    int status = 0;
    ASSERT_EQ(::waitpid(run, &status, 0), run);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal);
    const json result = json::parse(text_of(folder_.path() / "result.json"));
    EXPECT_EQ(result.at("complete"), false);
    EXPECT_TRUE(result.at("points").at(0).at("predicted").at("step_s").is_number());
    EXPECT_TRUE(result.at("points").at(1).at("predicted").is_null());
    EXPECT_EQ(result.at("points").at(1).at("failure"), "stopped by a signal");
    EXPECT_EQ(text_of(folder_.path() / "err"),
              "paceline: 800 GPUs: stopped by a signal; done: 1 of 2 points\n");
    EXPECT_NE(text_of(folder_.path() / "out.json").find("failed"), std::string::npos);
    EXPECT_TRUE(comes([&] { return nothing_runs(); }));
  }
}

TEST_F(Executor, AKillLeavesTheResultBefore) {
  folder_.write("result.json", "old");
  const pid_t run = start_long_run("long.yaml", "result.json");
  ::kill(run, SIGKILL);
  int status = 0;
  ASSERT_EQ(::waitpid(run, &status, 0), run);
  EXPECT_EQ(text_of(folder_.path() / "result.json"), "old");
  for (const auto& entry : fs::directory_iterator(folder_.path())) {
    EXPECT_FALSE(entry.path().filename().string().starts_with('.')) << entry.path();
  }
}

// However the program is ended, its server and its simulation end with it.
TEST_F(Executor, LeavesNoProcessBehind) {
  for (const int signal : {SIGINT, SIGTERM, SIGKILL}) {
    const pid_t run = start_long_run();
    ASSERT_EQ(processes_of(folder_.path()).size(), 3U);
    ::kill(run, signal);
    int status = 0;
    ASSERT_EQ(::waitpid(run, &status, 0), run);
    EXPECT_TRUE(comes([&] { return nothing_runs(); })) << "signal " << signal;
  }
}

TEST_F(Executor, RefusesArgumentsAndLinesThatAreNoPoints) {
  const std::string executor = (folder_.path() / "paceline-sim").string();
  const Ended with_argument = run_program({executor, "--help"}, folder_.path());
  EXPECT_EQ(with_argument.exit_code, 2);
  EXPECT_NE(with_argument.err.find("paceline run"), std::string::npos);
  EXPECT_EQ(run_program({executor}, folder_.path()).exit_code, 0);  // no input: nothing to do
  const Ended garbage =
      run_program({"/bin/sh", "-c", "echo garbage | " + executor}, folder_.path());
  EXPECT_EQ(garbage.exit_code, 2);
  EXPECT_EQ(garbage.out, "");
  EXPECT_NE(garbage.err.find("paceline-sim: not a point: "), std::string::npos) << garbage.err;
}

}  // namespace executor_test
}  // namespace paceline::test
