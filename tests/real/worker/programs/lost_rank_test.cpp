// Ranks that are lost while `paceline run --measure` is running: it ends in time, says which
// rank, keeps what was measured, and leaves nothing behind. tests/testbed/failures.py does more of
// it.

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/real/worker/programs/measured.h"

namespace paceline::test {
namespace lost_rank_test {

// Of 305 ms with three ranks: a rank is lost after two of them.
constexpr std::size_t steps_all = 12;
// A rank that is silent for so long is lost; one that ends is sooner.
constexpr const char* silence = "real.timeout=3s";
// Beside that mpirun has 2 s to end what it started, 3 s once it is asked to.
constexpr double end_max_s = 25;

// What Open MPI writes into, of those of its ranks that have one.
std::set<std::string> session_folders(const std::map<std::string, pid_t>& ranks) {
  std::set<std::string> folders;
  for (const auto& [rank, process] : ranks) {
    const std::string folder = variable_of(process, "TMPDIR");
    if (folder.find("/paceline-mpi-") != std::string::npos) folders.insert(folder);
  }
  return folders;
}

struct Loss {
  const char* backend;
  int signal;
  const char* rank;
};

void PrintTo(const Loss& loss, std::ostream* out) {
  *out << loss.backend << (loss.signal == SIGKILL ? "Kill" : "Stop") << loss.rank;
}

class LostRank : public testing::Test {
 protected:
  // What must hold of a run whose rank was just lost.
  void expect_good_end(Program& program, const std::string& named) {
    const auto all = below(program.process());
    const Ended ended = program.end(end_max_s);
    EXPECT_EQ(ended.exit_code, 3);
    const auto lines = lines_of(ended.err);
    ASSERT_EQ(lines.size(), 1U) << ended.err;
    EXPECT_TRUE(lines[0].starts_with("paceline: 3 GPUs: ")) << ended.err;
    EXPECT_NE(lines[0].find(named), std::string::npos) << ended.err;
    EXPECT_TRUE(comes(hangs_after_s, [&] { return !is_any_alive(all); }));
    expect_partial_results(ended.out);
  }

  // The point of one rank was done; of that of three, which failed, the steps up to then.
  void expect_partial_results(const std::string& table) const {
    const auto points = nlohmann::json::parse(text_of(json_)).at("points");
    ASSERT_EQ(points.size(), 2U);
    EXPECT_TRUE(points[0].at("measured").is_object());
    EXPECT_FALSE(points[1].at("measured").is_object());
    const auto& steps = points[1].at("steps_measured_s");
    EXPECT_GE(steps.size(), 2U);
    EXPECT_LT(steps.size(), steps_all);
    EXPECT_NE(table.find("(" + std::to_string(steps.size()) + " steps were done)"),
              std::string::npos)
        << table;
  }

  std::vector<std::string> command(const char* backend, bool is_silent) {
    auto words = measure_command(
        folder_.write("scenario.yaml", measured_scenario(backend, std::to_string(steps_all))),
        json_);
    words.insert(words.end(), {"--set", "sweep.gpus=[1, 3]", "--set", "ranks.slowdown={2: 5}"});
    if (is_silent) words.insert(words.end(), {"--set", silence});
    return words;
  }

  Folder folder_;
  std::string json_ = (folder_.path() / "result.json").string();
};

class LostProcess : public LostRank, public testing::WithParamInterface<Loss> {};

TEST_P(LostProcess, EndsTheRunWithItsName) {
  const auto [backend, signal, rank] = GetParam();
  if (!has_backend(backend)) GTEST_SKIP() << "not built";
  Program program({command(backend, signal == SIGSTOP), {}});
  const auto ranks = ranks_in_steps(program.process(), 3, program.process());
  ASSERT_FALSE(ranks.empty());
  const auto folders = session_folders(ranks);
  EXPECT_EQ(folders.size(), std::string(backend) == "mpi" ? 1U : 0U);
  ::kill(ranks.at(rank), signal);
  expect_good_end(program, std::string("rank ") + rank + ' ');
  for (const auto& folder : folders) EXPECT_FALSE(std::filesystem::exists(folder)) << folder;
}

INSTANTIATE_TEST_SUITE_P(All, LostProcess,
                         testing::Values(Loss{"gloo", SIGKILL, "0"}, Loss{"gloo", SIGKILL, "2"},
                                         Loss{"gloo", SIGSTOP, "0"}, Loss{"gloo", SIGSTOP, "1"},
                                         Loss{"mpi", SIGKILL, "1"}, Loss{"mpi", SIGSTOP, "0"},
                                         Loss{"mpi", SIGSTOP, "2"}),
                         testing::PrintToStringParamName());

// The process below `process` whose command line begins so.
pid_t process_named(pid_t process, const std::string& name) {
  for (const pid_t one : below(process)) {
    const std::string command = text_of("/proc/" + std::to_string(one) + "/cmdline");
    if (std::filesystem::path(command.c_str()).filename() == name) return one;
  }
  return 0;
}

// And what mpirun's supervisor had no time to remove, the next one removes.
TEST_F(LostRank, IsLostWithMpirunOrWhoSupervisesIt) {
  if (!has_backend("mpi")) GTEST_SKIP() << "not built";
  for (const auto& [name, said] :
       {std::pair("mpirun", "mpirun was ended by signal 9 (Killed)"),
        std::pair("paceline-worker",
                  "paceline-worker, with all its ranks, was ended by signal 9 (Killed)")}) {
    Program program({command("mpi", false), {}});
    const auto ranks = ranks_in_steps(program.process(), 3, program.process());
    ASSERT_FALSE(ranks.empty());
    const pid_t process = process_named(program.process(), name);
    ASSERT_NE(process, 0) << name;
    const auto folders = session_folders(ranks);
    EXPECT_EQ(folders.size(), 1U);
    ::kill(process, SIGKILL);
    expect_good_end(program, said);
    Program next({{PACELINE_WORKER_BINARY, "--backend", "mpi", "--ranks", "1"},
                  {{"PACELINE_MPIRUN", "true"}}});
    EXPECT_EQ(next.end().exit_code, 0);
    for (const auto& folder : folders) EXPECT_FALSE(std::filesystem::exists(folder)) << folder;
  }
}

// In a testbed, a host a rank. What runs below the testbed's COMMAND is there until it ends.
TEST_F(LostRank, IsNamedWhenItsLinkGoesDown) {
  if (::geteuid() != 0 || !std::filesystem::exists("/dev/net/tun")) GTEST_SKIP() << "no testbed";
  if (!has_backend("gloo")) GTEST_SKIP() << "not built";
  std::string run;
  for (const auto& word : command("gloo", true)) run += "'" + word + "' ";
  const std::string script =
      "export PACELINE_HOST_ADDRESS=$PACELINE_TESTBED_ADDRESS_0; exec " + run;
  Program program({{PACELINE_TESTBED_BINARY, "--hosts", "3", "--rate", "400Mbps", "--latency",
                    "1ms", "--limit", "120s", "--", "/bin/sh", "-c", script}});
  const auto is_paceline = [](pid_t one) {
    const std::string command = text_of("/proc/" + std::to_string(one) + "/cmdline");
    return std::string(command.c_str()) == PACELINE_BINARY;
  };
  pid_t paceline = 0;
  ASSERT_TRUE(comes(hangs_after_s, [&] {
    const auto all = below(program.process());
    const auto found = std::ranges::find_if(all, is_paceline);
    if (found != all.end()) paceline = *found;
    return paceline != 0;
  }));
  ASSERT_FALSE(ranks_in_steps(program.process(), 3, paceline).empty());
  Program down({{PACELINE_TESTBED_BINARY, "--link-down", std::to_string(program.process()), "1"}});
  EXPECT_EQ(down.end().exit_code, 0);
  expect_good_end(program, "rank 1 ");
}

}  // namespace lost_rank_test
}  // namespace paceline::test
