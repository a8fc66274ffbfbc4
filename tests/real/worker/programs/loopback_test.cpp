// Ranks that one machine starts for itself can be reached from nowhere else.

#include <gtest/gtest.h>

#include <set>

#include "tests/real/worker/programs/measured.h"

namespace paceline::test {
namespace loopback_test {

// The sockets that a process has, by number.
std::set<std::string> sockets_of(pid_t process) {
  std::set<std::string> all;
  std::error_code gone;
  const std::string files = "/proc/" + std::to_string(process) + "/fd";
  for (const auto& entry : std::filesystem::directory_iterator(files, gone)) {
    const std::string target = std::filesystem::read_symlink(entry.path(), gone).string();
    constexpr std::string_view prefix = "socket:[";
    if (target.starts_with(prefix)) {
      all.insert(target.substr(prefix.size(), target.size() - prefix.size() - 1));
    }
  }
  return all;
}

bool is_rank(pid_t process) {
  const std::string command = text_of("/proc/" + std::to_string(process) + "/cmdline");
  return std::string(command.c_str()) == PACELINE_WORKER_BINARY;
}

// Addresses that are listened on but not at 127.0.0.0/8 or ::1, as /proc/net has them: the number
// of an IPv4 address as the machine has it in memory.
std::set<std::string> open_to_others(const std::vector<pid_t>& processes) {
  std::set<std::string> ours, open;
  for (const pid_t one : processes) {
    if (is_rank(one)) ours.merge(sockets_of(one));  // mpirun itself cannot be told
  }
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::istringstream lines(text_of(table));
    std::string line;
    std::getline(lines, line);  // names of columns
    while (std::getline(lines, line)) {
      std::istringstream words(line);
      std::string number, local, remote, state, queues, timer, retries, user, timeout, inode;
      words >> number >> local >> remote >> state >> queues >> timer >> retries >> user >>
          timeout >> inode;
      constexpr std::string_view listening = "0A", loopback6 = "00000000000000000000000001000000";
      if (state != listening || !ours.contains(inode)) continue;
      const std::string address = local.substr(0, local.find(':'));
      if (!address.ends_with("7F") && address != loopback6) open.insert(local);
    }
  }
  return open;
}

class LocalRun : public testing::TestWithParam<const char*> {};

TEST_P(LocalRun, ListensOnLoopbackAlone) {
  const std::string backend = GetParam();
  if (!has_backend(backend)) GTEST_SKIP() << "not built";
  const Folder folder;
  auto command = measure_command(folder.write("scenario.yaml", measured_scenario(backend, "20")),
                                 (folder.path() / "result.json").string());
  command.insert(command.end(), {"--set", "sweep.gpus=[3]"});
  Program program({command, {}});
  ASSERT_TRUE(comes(hangs_after_s, [&] { return below(program.process()).size() >= 4; }));
  std::set<std::string> open, seen;
  while (!program.has_ended()) {
    const auto all = below(program.process());
    open.merge(open_to_others(all));
    for (const pid_t one : all) seen.merge(sockets_of(one));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_EQ(program.end().exit_code, 0);
  EXPECT_FALSE(seen.empty());
  EXPECT_EQ(open, std::set<std::string>{});
}

INSTANTIATE_TEST_SUITE_P(All, LocalRun, testing::Values("gloo", "mpi"));

}  // namespace loopback_test
}  // namespace paceline::test
