// `paceline run --measure` in every process of a launcher: rank 0 reports, the others are ranks.

#include <gtest/gtest.h>

#include <csignal>
#include <memory>
#include <nlohmann/json.hpp>

#include "tests/real/worker/programs/measured.h"

namespace paceline::test {
namespace started_by_launcher_test {

class StartedByLauncher : public testing::Test {
 protected:
  std::vector<std::string> command(const char* backend) {
    return measure_command(folder_.write("scenario.yaml", measured_scenario(backend, "5")), json_);
  }

  // Points of 1, 2 and 3 GPUs: 2 ranks measure the second.
  void expect_the_point_of_two() const {
    const auto points = nlohmann::json::parse(text_of(json_)).at("points");
    ASSERT_EQ(points.size(), 3U);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(points[i].at("measured").is_object(), i == 1);
      const bool has_note =
          points[i].dump().find("not measured: the launcher started 2 ranks") != std::string::npos;
      EXPECT_EQ(has_note, i != 1) << points[i].dump(1);
    }
  }

  Folder folder_;
  std::string json_ = (folder_.path() / "result.json").string();
};

TEST_F(StartedByLauncher, TorchrunsProcessesAreTheRanks) {
  const std::string port = free_port();
  std::vector<std::unique_ptr<Program>> programs;
  for (const char* rank : {"0", "1"}) {
    const Variables variables{
        {"RANK", rank}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", port}};
    programs.push_back(std::make_unique<Program>(Start{command("gloo"), variables}));
  }
  const Ended first = programs[0]->end(), second = programs[1]->end();
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_EQ(first.err + second.err, "");
  EXPECT_EQ(second.exit_code, 0);
  EXPECT_EQ(second.out, "");
  expect_the_point_of_two();
}

// The rank of rank 0 goes on, and would wait for the next point for ever.
TEST_F(StartedByLauncher, AStoppedRank0EndsTheOthers) {
  const std::string port = free_port();
  auto arguments =
      measure_command(folder_.write("scenario.yaml", measured_scenario("gloo", "2000")), json_);
  arguments.insert(arguments.end(), {"--set", "real.timeout=3s"});
  std::vector<std::unique_ptr<Program>> programs;
  for (const char* rank : {"0", "1"}) {
    const Variables variables{
        {"RANK", rank}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", port}};
    programs.push_back(std::make_unique<Program>(Start{arguments, variables}));
  }
  const pid_t first_process = programs[0]->process();
  ASSERT_FALSE(ranks_in_steps(first_process, 1, first_process).empty());
  ASSERT_FALSE(programs[1]->has_ended());
  ::kill(programs[0]->process(), SIGSTOP);
  const Ended other = programs[1]->end();
  EXPECT_EQ(other.exit_code, 3);
  EXPECT_NE(other.err.find("rank 0 was stopped"), std::string::npos) << other.err;
  ::kill(programs[0]->process(), SIGCONT);
  const Ended first = programs[0]->end();
  EXPECT_EQ(first.exit_code, 3);
  EXPECT_NE(first.err.find("rank 0 was stopped"), std::string::npos) << first.err;
}

TEST_F(StartedByLauncher, MpirunsProcessesAreTheRanks) {
  if (!has_backend("mpi")) GTEST_SKIP() << "no Open MPI";
  for (const char* backend : {"gloo", "mpi"}) {
    auto arguments = command(backend);
    arguments.insert(arguments.begin(), {"mpirun", "--oversubscribe", "-n", "2"});
    const auto variables = with_mpirun({{"MASTER_PORT", free_port()}});
    const Ended ended = Program(Start{arguments, variables}).end();
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    expect_the_point_of_two();
  }
}

// A shell inside an allocation of one task is no launcher of ranks.
TEST_F(StartedByLauncher, OneTaskAloneStartsItsRanksItself) {
  const Variables variables{{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}};
  const Ended ended = Program(Start{command("memory"), variables}).end();
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  const auto result = nlohmann::json::parse(text_of(json_));
  for (const auto& point : result.at("points")) {
    EXPECT_TRUE(point.at("measured").is_object());
  }
}

}  // namespace started_by_launcher_test
}  // namespace paceline::test
