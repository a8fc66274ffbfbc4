#include "real/launch/spawn.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tests/real/launch/ranks.h"

namespace paceline::real::test {
namespace spawn_test {

std::string text_of(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

struct Ended {
  int status;
  std::string out, err;
};

// A spawner in a process of its own, with files as its stdin, stdout and stderr.
class Spawner {
 public:
  Spawner(const std::string& script, std::uint32_t ranks, Seconds grace, const std::string& prefix)
      : Spawner(std::vector<std::string>{"sh", "-c", script}, ranks, grace, prefix) {}

  Spawner(const std::vector<std::string>& command, std::uint32_t ranks, Seconds grace,
          const std::string& prefix) {
    std::ofstream(folder_.path / "in") << "a line\n";
    pid_ = ::fork();
    if (pid_ != 0) return;
    (void)!std::freopen((folder_.path / "in").c_str(), "r", stdin);
    (void)!std::freopen((folder_.path / "out").c_str(), "w", stdout);
    (void)!std::freopen((folder_.path / "err").c_str(), "w", stderr);
    const auto environment =
        environment_of({{"PACELINE_HOST_PREFIX", prefix}, {"PACELINE_HOST_ADDRESS", "127.0.0.1"}});
    ::_exit(spawn_ranks(command, RankCount(ranks), grace, environment));
  }

  [[nodiscard]] pid_t pid() const { return pid_; }
  Ended end() const {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status),
            text_of(folder_.path / "out"), text_of(folder_.path / "err")};
  }

 private:
  Folder folder_;
  pid_t pid_ = 0;
};

// Ranks that end by themselves.
Ended run(const std::string& script, std::uint32_t ranks) {
  return Spawner(script, ranks, patient.connect, "").end();
}

bool is_alive(const std::string& pid) {
  const std::string state = text_of("/proc/" + pid + "/stat");
  return !state.empty() && state.find(") Z") == std::string::npos;
}

bool ends_soon(const std::string& pid) {
  const auto end = steady_now() + Seconds(60);
  while (is_alive(pid) && steady_now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return !is_alive(pid);
}

TEST(Spawn, GivesRankZeroTheTerminalAndTheOthersNone) {
  const Ended ended = run("read line; echo \"$RANK of $WORLD_SIZE: $line\"", 3);
  EXPECT_EQ(ended.status, 0);
  EXPECT_EQ(ended.out, "0 of 3: a line\n");
  EXPECT_NE(ended.err.find("1 of 3: \n"), std::string::npos) << ended.err;
  EXPECT_NE(ended.err.find("2 of 3: \n"), std::string::npos) << ended.err;
}

TEST(Spawn, GivesTheVariablesOfTorchrun) {
  const Ended ended =
      run("echo $LOCAL_RANK $LOCAL_WORLD_SIZE $MASTER_ADDR ${MASTER_PORT:+port}", 1);
  EXPECT_EQ(ended.out, "0 1 127.0.0.1 port\n");
}

TEST(Spawn, LeavesTheListeningSocketToRankZeroOnly) {
  const Ended ended =
      run("test -n \"$PACELINE_CONTROL_FD\" && readlink /proc/$$/fd/$PACELINE_CONTROL_FD | cut "
          "-c-6 >&2",
          2);
  EXPECT_EQ(ended.err, "socket\npaceline-worker: rank 1 ended with status 1\n");
  EXPECT_EQ(ended.status, 1);
}

TEST(Spawn, PrintsOneLineOfAFailureRankZerosFirst) {
  const Ended ended = run("echo note >&2; echo paceline-worker: by $RANK >&2; exit 3", 3);
  EXPECT_EQ(ended.status, 3);
  EXPECT_EQ(ended.err, "note\nnote\nnote\npaceline-worker: by 0\n");
}

// A beginning of the ranks' script: rank `first` does that and is gone, which its spawner has
// noticed before the others go on.
std::string after(const Folder& folder, const std::string& first, const std::string& what) {
  const std::string file = (folder.path / "first").string();
  return "if test $RANK = " + first + "; then echo $$ > " + file + ".new; mv " + file + ".new " +
         file + "; " + what + "; fi; until test -e " + file +
         "; do sleep 0.01; done; while kill -0 $(cat " + file +
         ") 2> /dev/null; do sleep 0.01; done; ";
}

TEST(Spawn, LetsAWrongUsageSayMost) {
  const Folder folder;
  const Ended ended =
      run("echo paceline-worker: by $RANK >&2; " + after(folder, "1", "exit 2") + "exit 3", 3);
  EXPECT_EQ(ended.status, 2);
  EXPECT_EQ(ended.err, "paceline-worker: by 1\n");
}

TEST(Spawn, NamesTheSignalAndTheRank) {
  const Folder folder;
  const Ended ended =
      run(after(folder, "2", "kill -9 $$") + "echo paceline-worker: rank 2 is lost >&2; exit 3", 3);
  EXPECT_EQ(ended.status, 3);
  EXPECT_EQ(ended.err, "paceline-worker: rank 2 was ended by signal 9 (Killed)\n");
}

TEST(Spawn, SaysWhyAProgramCannotBeStarted) {
  const Spawner spawner("", 2, Seconds(0.5), "/no/such/program");
  const Ended ended = spawner.end();
  EXPECT_EQ(ended.status, 3);
  EXPECT_EQ(ended.err,
            "paceline-worker: /no/such/program cannot be started: No such file or directory\n");
}

TEST(Spawn, PutsThePrefixBeforeEveryRank) {
  const Ended ended =
      Spawner("echo $PLACE ${PACELINE_CONTROL_FD:-none}", 1, Seconds(0.5), "env PLACE=host{rank}")
          .end();
  EXPECT_EQ(ended.out, "host0 none\n");
}

TEST(Spawn, KillsWhatDoesNotEndByItselfAlsoWhenItIsStopped) {
  const auto begin = steady_now();
  const std::string script = "test $RANK = 1 && exit 3; trap '' TERM; kill -STOP $$; sleep 60";
  const Ended ended = Spawner(script, 3, Seconds(0.5), "").end();
  EXPECT_EQ(ended.status, 3);
  EXPECT_EQ(ended.err, "paceline-worker: rank 1 ended with status 3\n");
  EXPECT_LT(steady_now() - begin, Seconds(30));  // of the 60 that a rank sleeps
}

// Ranks that write their process's number to a file of this folder, and wait.
struct Waiting {
  Folder folder;
  std::string script = "echo $$ > " + (folder.path / "rank").string() + "$RANK; exec sleep 60";

  // Waits until it is there.
  [[nodiscard]] std::string pid_of(std::uint32_t rank) const {
    const auto path = folder.path / ("rank" + std::to_string(rank));
    const auto end = steady_now() + Seconds(60);
    while (!text_of(path).ends_with('\n') && steady_now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    const std::string text = text_of(path);
    return text.substr(0, text.find('\n'));
  }
};

TEST(Spawn, EndsItsRanksWhenItIsInterrupted) {
  for (const int number : {SIGINT, SIGTERM}) {
    const Waiting ranks;
    const Spawner spawner(ranks.script, 2, Seconds(0.5), "");
    const std::vector<std::string> pids{ranks.pid_of(0), ranks.pid_of(1)};
    ::kill(spawner.pid(), number);
    EXPECT_EQ(spawner.end().status, 128 + number);
    for (const std::string& pid : pids) EXPECT_FALSE(is_alive(pid));
  }
}

TEST(Spawn, TakesItsRanksAlongWhenItIsKilled) {
  const Waiting ranks;
  const Spawner spawner(ranks.script, 1, Seconds(0.5), "");
  const std::string pid = ranks.pid_of(0);
  ::kill(spawner.pid(), SIGKILL);
  EXPECT_EQ(spawner.end().status, -SIGKILL);
  EXPECT_TRUE(ends_soon(pid));
}

// A rank of the two tests below: this program again.
TEST(Spawn, DISABLED_RankOfASpawner) {
  const auto control = Control::join(*find_rank_identity(process_environment),
                                     parse_rendezvous("env://", process_environment),
                                     {patient.connect, patient.silence, end_process});
  ASSERT_EQ(control->all_gather("a").size(), 3u);
  if (process_environment("PACELINE_TEST_VICTIM") == std::to_string(control->rank().value())) {
    ::raise(SIGKILL);
  }
  control->barrier();
  control->leave();
}

Ended run_this_program(const std::string& prefix) {
  const std::vector<std::string> command{std::filesystem::read_symlink("/proc/self/exe").string(),
                                         "--gtest_also_run_disabled_tests",
                                         "--gtest_filter=Spawn.DISABLED_RankOfASpawner"};
  return Spawner(command, 3, Seconds(5), prefix).end();
}

TEST(Spawn, LetsItsRanksMeet) {
  for (const char* prefix : {"", "env"}) {  // at the socket of the spawner, and at a port
    const Ended ended = run_this_program(prefix);
    EXPECT_EQ(ended.status, 0) << ended.out << ended.err;
  }
}

TEST(Spawn, EndsAllWhenARankIsKilledAndSaysSoOnce) {
  for (const char* victim : {"0", "2"}) {
    const Ended ended = run_this_program(std::string("env PACELINE_TEST_VICTIM=") + victim);
    EXPECT_EQ(ended.status, 3);
    const std::string line =
        std::string("paceline-worker: rank ") + victim + " was ended by signal 9 (Killed)\n";
    EXPECT_TRUE(ended.err.ends_with(line)) << ended.err;
    EXPECT_EQ(ended.err.find("paceline-worker:"), ended.err.size() - line.size());
  }
}

}  // namespace spawn_test
}  // namespace paceline::real::test
