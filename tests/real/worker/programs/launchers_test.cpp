// Launchers and rendezvous with the program itself: processes of paceline-worker with the variables
// that a launcher would give them, and rank 0 with a point.

#include <gtest/gtest.h>

#include <memory>

#include "tests/real/worker/programs/program.h"
#include "tests/real/worker/small_point.h"
#include "traces/json/protocol.h"

namespace paceline::test {
namespace launchers_test {

constexpr std::uint32_t ranks = 2;

std::string point_line() { return traces::to_line(step_of(ranks, 1)) + '\n'; }

std::vector<std::string> worker(const std::string& rendezvous) {
  return {PACELINE_WORKER_BINARY, "--backend", "gloo", "--timeout", "10s",
          "--rendezvous",         rendezvous};
}

// The result's line is the last; lines of progress come before.
void expect_result(const Ended& ended) {
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  // Libraries may say what they miss (hwloc without /sys); ranks have nothing to say.
  EXPECT_EQ(ended.err.find("paceline-worker:"), std::string::npos) << ended.err;
  const auto lines = lines_of(ended.out);
  ASSERT_EQ(lines.size(), 6U) << ended.out;
  const auto reply = traces::reply_from_line(lines.back(), step_of(ranks, 1).program);
  ASSERT_TRUE(std::holds_alternative<Result>(reply)) << lines.back();
  EXPECT_EQ(std::get<Result>(reply).measurement->backend, "gloo");
}

using VariablesOf = Variables (*)(const std::string& rank);

Variables torchrun(const std::string& rank) {
  return {{"RANK", rank}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", rank}, {"LOCAL_WORLD_SIZE", "2"}};
}
Variables open_mpi(const std::string& rank) {
  return {{"OMPI_COMM_WORLD_RANK", rank},
          {"OMPI_COMM_WORLD_SIZE", "2"},
          {"OMPI_COMM_WORLD_LOCAL_RANK", rank},
          {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}};
}
Variables slurm(const std::string& rank) {
  return {{"SLURM_PROCID", rank}, {"SLURM_NTASKS", "2"}, {"SLURM_LOCALID", rank}};
}

struct Launcher {
  const char* name;
  VariablesOf variables;
};

void PrintTo(const Launcher& launcher, std::ostream* out) { *out << launcher.name; }

class Launchers : public testing::TestWithParam<Launcher> {
 protected:
  static void measure(const std::string& rendezvous, const std::string& port) {
    std::vector<std::unique_ptr<Program>> programs;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      Start start{worker(rendezvous), GetParam().variables(std::to_string(rank))};
      start.variables["MASTER_ADDR"] = "127.0.0.1";
      start.variables["MASTER_PORT"] = port;
      if (rank == 0) start.in = point_line();
      programs.push_back(std::make_unique<Program>(start));
    }
    expect_result(programs[0]->end());
    EXPECT_EQ(programs[1]->end().exit_code, 0);
  }
};

TEST_P(Launchers, MeetByTheEnvironment) { measure("env://", free_port()); }

TEST_P(Launchers, MeetAtAnAddress) { measure("tcp://127.0.0.1:" + free_port(), "1"); }

TEST_P(Launchers, MeetAtAFile) {
  const Folder folder;
  const std::string file = (folder.path() / "meeting").string();
  measure("file://" + file, "1");
  EXPECT_FALSE(std::filesystem::exists(file));
}

INSTANTIATE_TEST_SUITE_P(All, Launchers,
                         testing::Values(Launcher{"torchrun", torchrun},
                                         Launcher{"OpenMpi", open_mpi}, Launcher{"Slurm", slurm}),
                         [](const auto& row) { return std::string(row.param.name); });

class Mpirun : public testing::TestWithParam<const char*> {};

TEST_P(Mpirun, StartsRanksThatMeet) {
  if (!has_backend("mpi")) GTEST_SKIP() << "no Open MPI";
  const Folder folder;
  std::string rendezvous = GetParam();
  if (rendezvous == "tcp://") rendezvous += "127.0.0.1:" + free_port();
  if (rendezvous == "file://") rendezvous += (folder.path() / "meeting").string();
  Start start{{"mpirun", "--oversubscribe", "-n", "2"},
              with_mpirun({{"MASTER_PORT", free_port()}}),
              point_line()};
  for (const auto& word : worker(rendezvous)) start.command.push_back(word);
  expect_result(Program(start).end());
}

INSTANTIATE_TEST_SUITE_P(All, Mpirun, testing::Values("env://", "tcp://", "file://"),
                         [](const auto& row) {
                           const std::string name = row.param;
                           return name.substr(0, name.find(':'));
                         });

}  // namespace launchers_test
}  // namespace paceline::test
