// `paceline collective --measure` as a launcher's processes, and with a rank that is lost.

#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "tests/real/worker/programs/program.h"

namespace paceline::test {
namespace collective_test {

std::vector<std::string> collective(const std::vector<std::string>& options) {
  std::vector<std::string> command{PACELINE_BINARY, "collective", "--measure", "--backend", "gloo",
                                   "--timeout",     "30s",        "--json",    "-"};
  command.insert(command.end(), options.begin(), options.end());
  return command;
}

void expect_table_of_two(const Ended& ended) {
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  const auto table = nlohmann::json::parse(ended.out);
  EXPECT_EQ(table.at("gpus"), 2);
  EXPECT_EQ(table.at("rows").at(0).at("in_place").at("wrong_elements"), 0);
}

TEST(MeasuredCollective, TorchrunsProcessesAreTheRanks) {
  const std::string port = free_port();
  std::vector<std::unique_ptr<Program>> programs;
  for (const char* rank : {"0", "1"}) {
    const Variables variables{
        {"RANK", rank}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", port}};
    programs.push_back(std::make_unique<Program>(Start{collective({"--max", "4KiB"}), variables}));
  }
  const Ended first = programs[0]->end(), second = programs[1]->end();
  EXPECT_EQ(first.err + second.err, "");
  expect_table_of_two(first);
  EXPECT_EQ(second.exit_code, 0);
  EXPECT_EQ(second.out, "");
}

TEST(MeasuredCollective, MpirunsProcessesAreTheRanks) {
  if (!has_backend("mpi")) GTEST_SKIP() << "no Open MPI";
  auto command = collective({"--max", "4KiB", "--backend", "mpi"});
  command.erase(command.begin() + 3, command.begin() + 5);
  command.insert(command.begin(), {"mpirun", "--oversubscribe", "-n", "2"});
  const auto variables = with_mpirun({{"MASTER_PORT", free_port()}});
  expect_table_of_two(Program(Start{command, variables}).end());
}

TEST(MeasuredCollective, AsksForAsManyRanksAsTheLauncherStarted) {
  const Variables variables{{"RANK", "0"},
                            {"WORLD_SIZE", "2"},
                            {"MASTER_ADDR", "127.0.0.1"},
                            {"MASTER_PORT", "1"},
                            {"PACELINE_CONNECT_TIMEOUT", "0.5s"}};  // rank 1 never comes
  const Ended ended = Program(Start{collective({"--gpus", "3"}), variables}).end();
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_EQ(ended.err, "paceline: --gpus: the launcher started 2 ranks; leave it out\n");
}

TEST(MeasuredCollective, EndsWhenARankIsLost) {
  Program program(
      {collective({"--gpus", "2", "--min", "64MiB", "--max", "64MiB", "--iterations", "100000"}),
       {}});
  pid_t rank_1 = 0;
  ASSERT_TRUE(comes(hangs_after_s, [&] {
    const auto ranks = ranks_below(program.process());
    if (ranks.contains("1")) rank_1 = ranks.at("1");
    return rank_1 != 0;
  }));
  // To begin and to meet takes less.
  ASSERT_TRUE(comes(hangs_after_s, [&] { return cpu_seconds(rank_1) > 0.3; }));
  const auto all = below(program.process());
  ASSERT_EQ(::kill(rank_1, SIGKILL), 0);
  const Ended ended = program.end();
  EXPECT_EQ(ended.exit_code, 3);
  EXPECT_EQ(lines_of(ended.err).size(), 1U) << ended.err;
  EXPECT_NE(ended.err.find("rank 1"), std::string::npos) << ended.err;
  EXPECT_TRUE(comes(hangs_after_s, [&] { return !is_any_alive(all); }));
}

}  // namespace collective_test
}  // namespace paceline::test
