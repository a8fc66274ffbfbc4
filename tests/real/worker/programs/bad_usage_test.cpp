// What cannot be is said in one line, soon, by status 2 or 3: the program as a user starts it.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "real/launch/socket.h"
#include "tests/real/worker/programs/measured.h"
#include "tests/scenarios/process.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline::test {
namespace bad_usage_test {

using Arguments = std::vector<std::string>;

// Without waiting for ranks to come, for which they have longer.
constexpr double seconds_max = hangs_after_s / 2;

struct Port {
  real::Opened listening = real::listen_on({"127.0.0.1", 0});
  std::string number = std::to_string(real::local_address(listening.socket).port);
};

Variables rank_of(const char* rank, const char* size, const std::string& port) {
  return {
      {"RANK", rank}, {"WORLD_SIZE", size}, {"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", port}};
}

std::unique_ptr<Program> worker(const Variables& variables, std::vector<std::string> options) {
  options.insert(options.begin(), PACELINE_WORKER_BINARY);
  return std::make_unique<Program>(Start{options, variables});
}

void expect_one_line(const std::unique_ptr<Program>& program, int status, const std::string& what) {
  const Ended ended = program->end(seconds_max);
  EXPECT_EQ(ended.exit_code, status) << ended.err;
  EXPECT_EQ(ended.out, "");
  const auto lines = lines_of(ended.err);
  ASSERT_EQ(lines.size(), 1U) << ended.err;
  EXPECT_TRUE(lines[0].starts_with("paceline")) << ended.err;
  EXPECT_NE(lines[0].find(what), std::string::npos) << ended.err;
}

TEST(BadUsage, ARankThatIsNone) {
  expect_one_line(worker(rank_of("2", "2", free_port()), {}), 2, "RANK=2 of WORLD_SIZE=2");
}

TEST(BadUsage, NoLauncher) { expect_one_line(worker({}, {}), 2, "no launcher's variables"); }

TEST(BadUsage, WorldSizesThatDiffer) {
  const std::string port = free_port(), told = "rank 1 was told a world size of 2, rank 0 of 3";
  const auto first = worker(rank_of("0", "3", port), {});
  expect_one_line(worker(rank_of("1", "2", port), {}), 2, told);
  expect_one_line(first, 2, told);
}

// All end alike, and say which rank was given what.
TEST(BadUsage, RanksThatWereGivenDifferentThings) {
  const Folder folder;
  const std::string one = folder.write("one.yaml", measured_scenario("gloo", "3")),
                    other = folder.write("other.yaml", measured_scenario("gloo", "4"));
  const auto measure = [](const std::string& scenario, const std::vector<std::string>& options) {
    std::vector<std::string> command{PACELINE_BINARY, "measure", scenario, "--quiet"};
    command.insert(command.end(), options.begin(), options.end());
    return command;
  };
  for (const auto& [second, said] :
       {std::pair(measure(other, {}), "has another scenario than rank 0"),
        {measure(one, {"--steps", "5"}), "has real.steps=5, rank 0 real.steps=4"},
        {measure(one, {"--warmup", "2"}), "has real.warmup=2, rank 0 no real.warmup"}}) {
    const std::string port = free_port();
    const auto first =
        std::make_unique<Program>(Start{measure(one, {"--steps", "4"}), rank_of("0", "2", port)});
    auto command = second;
    if (std::ranges::find(command, "--steps") == command.end()) {
      command.insert(command.end(), {"--steps", "4"});
    }
    const auto rank_1 = std::make_unique<Program>(Start{command, rank_of("1", "2", port)});
    expect_one_line(rank_1, 2, said);
    expect_one_line(first, 2, said);
  }
}

// What one rank alone cannot do ends all: none waits for it.
TEST(BadUsage, ARankThatCannotTakePart) {
  const Folder folder;
  const std::string scenario = folder.write("one.yaml", measured_scenario("gloo", "3")),
                    secret = folder.write("secret", "of sixteen bytes or more");
  std::filesystem::permissions(secret, std::filesystem::perms::owner_read);
  const auto expect_end_of_all = [&](const std::string& faulty, const Arguments& more) {
    const std::string port = free_port();
    std::vector<std::unique_ptr<Program>> ranks;
    for (const char* rank : {"0", "1", "2"}) {
      const char* const setting = rank == faulty ? "real.no_such_key=1" : "real.steps=3";
      Arguments command{PACELINE_BINARY, "measure", scenario, "--quiet", "--set", setting};
      command.insert(command.end(), more.begin(), more.end());
      ranks.push_back(std::make_unique<Program>(Start{command, rank_of(rank, "3", port)}));
    }
    for (const auto& rank : ranks) expect_one_line(rank, 2, "no_such_key");
  };
  // A folder that only the others have, and an option that only they know.
  for (const auto& [option, value] :
       {std::pair("--json", "/no/such/folder/r.json"), {"--no-such-option", "1"}}) {
    const std::string port = free_port();
    const Arguments command{PACELINE_BINARY, "measure", scenario, "--quiet"};
    Arguments faulty = command;
    faulty.insert(faulty.end(), {option, value});
    const auto first = std::make_unique<Program>(Start{command, rank_of("0", "2", port)});
    expect_one_line(std::make_unique<Program>(Start{faulty, rank_of("1", "2", port)}), 2, "no");
    expect_one_line(first, 2, "cannot take part");
  }
  for (const char* faulty : {"0", "1"}) {
    expect_end_of_all(faulty, {});
    expect_end_of_all(faulty, {"--secret-file", secret});
  }
}

TEST(BadUsage, TwoProcessesOfOneRank) {
  const std::string port = free_port(), told = "two processes say that they are rank 1";
  const auto first = worker(rank_of("0", "3", port), {});
  const auto second = worker(rank_of("1", "3", port), {});
  expect_one_line(worker(rank_of("1", "3", port), {}), 2, told);
  expect_one_line(second, 2, told);
  expect_one_line(first, 2, told);
}

TEST(BadUsage, AMasterThatRefuses) {
  expect_one_line(worker(rank_of("1", "2", free_port()), {"--connect-timeout", "1s"}), 3,
                  "127.0.0.1");
}

// 192.0.2.0/24 is documentation's (RFC 5737): no host answers.
TEST(BadUsage, AMasterThatNeverAnswers) {
  Variables variables = rank_of("1", "2", "29500");
  variables["MASTER_ADDR"] = "192.0.2.1";
  expect_one_line(worker(variables, {"--connect-timeout", "1s"}), 3, "192.0.2.1");
}

TEST(BadUsage, ANameThatIsNoHosts) {
  Variables variables = rank_of("1", "2", "29500");
  variables["MASTER_ADDR"] = "no-such-host.invalid";
  expect_one_line(worker(variables, {"--connect-timeout", "1s"}), 3, "no-such-host.invalid");
}

TEST(BadUsage, RanksThatNeverCome) {
  expect_one_line(worker(rank_of("0", "3", free_port()), {"--connect-timeout", "1s"}), 3,
                  "ranks 1, 2 did not come");
}

TEST(BadUsage, APortThatIsTaken) {
  const Port port;
  expect_one_line(worker(rank_of("0", "2", port.number), {}), 3,
                  "port " + port.number + " on 127.0.0.1 is taken");
}

TEST(BadUsage, ABackendThatIsNone) {
  expect_one_line(worker({}, {"--backend", "carrier-pigeon", "--ranks", "2"}), 2,
                  "no backend is called \"carrier-pigeon\"; there are memory, gloo, mpi");
  expect_one_line(worker(rank_of("1", "2", free_port()), {"--backend", "carrier-pigeon"}), 2,
                  "no backend is called \"carrier-pigeon\"");
}

// Not built, or built and no GPU to be found.
TEST(BadUsage, ABackendThatIsNotHere) {
  if (has_backend("nccl")) GTEST_SKIP() << "there is a GPU";
  expect_one_line(worker({}, {"--backend", "nccl", "--ranks", "2"}), 3, "nccl: ");
  expect_one_line(worker(rank_of("1", "2", free_port()), {"--backend", "nccl"}), 3, "nccl: ");
}

TEST(BadUsage, NoMpirun) {
  if (!has_backend("mpi")) GTEST_SKIP() << "no Open MPI";
  expect_one_line(worker({{"PATH", "/nonexistent"}}, {"--backend", "mpi", "--ranks", "2"}), 3,
                  "mpirun: no such program in PATH; install openmpi-bin");
}

TEST(BadUsage, AnMpirunThatRefuses) {
  if (!has_backend("mpi")) GTEST_SKIP() << "no Open MPI";
  expect_one_line(worker({{"PACELINE_MPIRUN", "mpirun --no-such-option"}},
                         {"--backend", "mpi", "--ranks", "2"}),
                  3, "mpirun: ");
}

TEST(BadUsage, AnMpirunThatStartsNobody) {
  if (!has_backend("mpi")) GTEST_SKIP() << "no Open MPI";
  const test::Folder folder;
  const std::string script = folder.write("mpirun", "#!/bin/sh\nexec sleep 600\n");
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  for (const Variables& by : {Variables{{"PATH", folder.path().string() + ":/usr/bin:/bin"}},
                              Variables{{"PACELINE_MPIRUN", script}}}) {
    expect_one_line(worker(by, {"--backend", "mpi", "--ranks", "2", "--timeout", "0.5s",
                                "--connect-timeout", "0.5s"}),
                    3, "mpirun has started no rank within 1 s");
  }
}

// A rank has begun, and nobody says anything more.
TEST(BadUsage, AnMpirunThatIsStopped) {
  if (!has_backend("mpi")) GTEST_SKIP() << "no Open MPI";
  const test::Folder folder;
  const std::string script =
      folder.write("mpirun", "#!/bin/sh\necho 'paceline-worker has begun' >&2\nkill -STOP $$\n");
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  expect_one_line(
      worker({{"PACELINE_MPIRUN", script}}, {"--backend", "mpi", "--ranks", "2", "--timeout",
                                             "0.5s", "--connect-timeout", "0.5s"}),
      3, "mpirun or a rank has been stopped for 1 s");
}

// MPI without its mpirun waits for a daemon of its own: here for one that says nothing, and ends
// with the rank.
TEST(BadUsage, AnMpiThatDoesNotBegin) {
  if (!has_backend("mpi")) GTEST_SKIP() << "no Open MPI";
  const test::Folder folder;
  const std::string daemon =
      folder.write("orted",
                   "#!/bin/sh\n"
                   "while [ $1 != --singleton-died-pipe ]; do shift; done; exec cat /dev/fd/$2\n");
  std::filesystem::permissions(daemon, std::filesystem::perms::owner_all);
  const std::string scenario = folder.write("scenario.yaml", measured_scenario("mpi", "3"));
  const std::string port = free_port();
  std::vector<std::unique_ptr<Program>> ranks;
  for (const char* const rank : {"0", "1"}) {
    Variables variables = rank_of(rank, "2", port);
    for (const char* const name : {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK"}) {
      variables[name] = rank;
    }
    variables["OMPI_COMM_WORLD_SIZE"] = "2";
    variables["OPAL_BINDIR"] = folder.path();
    ranks.push_back(std::make_unique<Program>(Start{
        {PACELINE_BINARY, "measure", scenario, "--quiet", "--set", "real.timeout=1s"}, variables}));
  }
  std::string said;
  for (const auto& rank : ranks) {
    const Ended ended = rank->end();
    EXPECT_EQ(ended.exit_code, 3) << ended.err;
    said += ended.err;
  }
  EXPECT_NE(said.find("MPI_Init_thread: not done within "), std::string::npos) << said;
}

TEST(BadUsage, ARendezvousThatIsNone) {
  expect_one_line(worker(rank_of("0", "2", free_port()), {"--rendezvous", "smoke://hill"}), 2,
                  "smoke://hill is no rendezvous");
}

class BadScenario : public testing::Test {
 protected:
  void expect(std::vector<std::string> settings, const Variables& variables, int status,
              const std::string& what) {
    std::vector<std::string> command{PACELINE_BINARY, "run", scenario_, "--measure", "--csv", csv_};
    for (auto& setting : settings) command.insert(command.end(), {"--set", std::move(setting)});
    const Ended ended = Program(Start{command, variables}).end(seconds_max);
    EXPECT_EQ(ended.exit_code, status) << ended.err;
    const auto lines = lines_of(ended.err);
    ASSERT_EQ(lines.size(), 1U) << ended.err;
    EXPECT_TRUE(lines[0].starts_with("paceline: ")) << ended.err;
    EXPECT_NE(lines[0].find(what), std::string::npos) << ended.err;
  }

  Folder folder_;
  std::string scenario_ = folder_.write("scenario.yaml", small_scenario);
  std::string csv_ = (folder_.path() / "result.csv").string();
};

TEST_F(BadScenario, NativeCollectivesOfABackendThatHasNone) {
  expect({"real.backend=memory", "real.mode=native"}, {}, 3,
         "the backend has no all_reduce of its own; set real.mode: plan");
}

TEST_F(BadScenario, ABackendThatIsNotHere) {
  if (has_backend("nccl")) GTEST_SKIP() << "there is a GPU";
  expect({"real.backend=nccl"}, {}, 3, "nccl");
}

TEST_F(BadScenario, NoPointOfAsManyRanksAsTheLauncherStarted) {
  Variables variables = rank_of("0", "3", free_port());
  variables["PACELINE_CONNECT_TIMEOUT"] = "0.5s";  // for the others, which never come
  expect({"real.backend=memory"}, variables, 2,
         "no point has 3 GPUs, as many as the launcher started ranks");
}

TEST_F(BadScenario, HalfOfALaunchersVariables) {
  expect({"real.backend=memory"}, {{"RANK", "1"}}, 2, "RANK=1 is set, WORLD_SIZE is not");
}

}  // namespace bad_usage_test
}  // namespace paceline::test
