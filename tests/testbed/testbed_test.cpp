// What a testbed is for those who start it: its options, its hosts, and that nothing stays behind.

#include <gtest/gtest.h>
#include <net/if.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/scenarios/process.h"
#include "tests/testbed/running_testbed.h"

namespace paceline::testbed {
namespace {

namespace fs = std::filesystem;
using test::run_program;

test::Ended testbed(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), PACELINE_TESTBED_BINARY);
  return run_program(arguments, "/");
}

// Two hosts, and a script of the shell as COMMAND.
test::Ended run_script(std::vector<std::string> options, const std::string& script) {
  std::vector<std::string> arguments{"--hosts", "2", "--rate", "100Mbps"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  for (const char* word : {"--", "/bin/sh", "-c", script.c_str()}) arguments.emplace_back(word);
  return testbed(arguments);
}

class Testbed : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto ended = run_script({}, "true");
    if (ended.exit_code == 3) GTEST_SKIP() << ended.err;
  }
};

TEST(TestbedUsage, IsRefusedInOneLine) {
  const std::vector<std::vector<std::string>> refused{
      {},
      {"--hosts", "2", "--", "/bin/true"},
      {"--hosts", "0", "--rate", "1Gbps", "--", "/bin/true"},
      {"--hosts", "65", "--rate", "1Gbps", "--", "/bin/true"},
      {"--hosts", "2", "--rate", "1000", "--", "/bin/true"},
      {"--hosts", "2", "--rate", "1Gbps", "--latency", "1", "--", "/bin/true"},
      {"--hosts", "2", "--rate", "1Gbps", "--mtu", "100", "--", "/bin/true"},
      {"--hosts", "2", "--rate", "1Gbps", "--inside", "2", "--", "/bin/true"},
      {"--hosts", "2", "--rate", "1Gbps"},
      {"--hosts", "2", "--rat", "1Gbps", "--", "/bin/true"},
      {"--enter", "1"},
      {"--link-down", "1"}};
  for (const auto& arguments : refused) {
    const auto ended = testbed(arguments);
    EXPECT_EQ(ended.exit_code, 2) << ended.err;
    EXPECT_EQ(std::count(ended.err.begin(), ended.err.end(), '\n'), 1) << ended.err;
  }
}

TEST(TestbedUsage, KnowsWhatIsNoTestbed) {
  const auto ended = testbed({"--enter", std::to_string(::getpid()), "0", "--", "/bin/true"});
  EXPECT_EQ(ended.exit_code, 3);
  EXPECT_NE(ended.err.find("is no testbed's process"), std::string::npos) << ended.err;
}

TEST_F(Testbed, EndsAsItsCommand) {
  EXPECT_EQ(run_script({}, "exit 7").exit_code, 7);
  EXPECT_EQ(run_script({}, "kill -KILL $$").exit_code, 128 + SIGKILL);
  const auto ended = testbed({"--hosts", "1", "--rate", "1Mbps", "--", "/no/such/command"});
  EXPECT_EQ(ended.exit_code, 127);
}

TEST_F(Testbed, EndsWithItsLimit) {
  const auto ended = run_script({"--limit", "300ms"}, "sleep 600");
  EXPECT_EQ(ended.exit_code, 124);
}

TEST_F(Testbed, HasHostsWithNamesAndAddresses) {
  const std::string prefix = "p=\"$PACELINE_TESTBED_PROGRAM --enter $PACELINE_TESTBED_PID\";";
  const auto ended = run_script(
      {"--inside", "0"}, prefix +
                             "hostname; getent hosts host1;"
                             "$p 1 -- hostname; $p 1 -- ls /sys/class/net; $p 2 -- true;"
                             "$PACELINE_TESTBED_PROGRAM --rsh-agent host1 echo '$((1' + '1))';"
                             "echo $PACELINE_TESTBED_HOSTS $PACELINE_TESTBED_ADDRESS_1;"
                             "echo \"$PACELINE_HOST_PREFIX\"");
  EXPECT_EQ(ended.out, std::string("host0\n10.77.0.2       host1\nhost1\neth0\nlo\n2\n") +
                           "2 10.77.0.2\n" PACELINE_TESTBED_BINARY " --enter 1 {rank} --\n");
  EXPECT_NE(ended.err.find("there are hosts 0 to 1"), std::string::npos) << ended.err;
}

TEST_F(Testbed, RunsItsCommandOutsideUnlessToldOtherwise) {
  const std::string own = fs::read_symlink("/proc/self/ns/net");
  EXPECT_EQ(run_script({}, "readlink /proc/self/ns/net").out, own + "\n");
  EXPECT_NE(run_script({"--inside", "1"}, "readlink /proc/self/ns/net").out, own + "\n");
}

TEST_F(Testbed, CountsWhatItCarried) {
  const test::Folder folder;
  const std::string file = (folder.path() / "stats.json").string();
  // Discarded there, but carried: port 9 of UDP, 100 bytes and 28 of headers.
  run_script({"--inside", "0", "--stats", file},
             "exec /bin/bash -c 'printf %0100d 0 > /dev/udp/10.77.0.2/9; sleep 0.1'");
  const auto stats = nlohmann::json::parse(test::text_of(file));
  EXPECT_GE(stats.at("switch_cpu_s").get<double>(), 0);
  EXPECT_EQ(stats.at("hosts").at(0).at("bytes_sent"), 128);
  EXPECT_EQ(stats.at("hosts").at(1).at("bytes_received"), 128);
  EXPECT_EQ(stats.at("hosts").at(1).at("bytes_queued_max"), 128);
  for (const auto& host : stats.at("hosts")) {
    for (const char* kind : {"by_queue", "by_link", "by_token_bucket", "by_device"}) {
      EXPECT_EQ(host.at(std::string("packets_dropped_") + kind), 0) << kind;
    }
  }
}

// Open MPI starts its daemons through the remote shell; the hosts are different machines to it.
TEST_F(Testbed, IsACluster) {
  if (!fs::exists("/usr/bin/mpirun")) GTEST_SKIP() << "Open MPI is not installed";
  const auto ended = run_script(
      {"--inside", "0"},
      "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 /usr/bin/mpirun --mca "
      "plm_rsh_agent \"$PACELINE_TESTBED_PROGRAM --rsh-agent\" --mca oob_tcp_if_include eth0 "
      "--host host0,host1 -np 2 --bind-to none hostname | sort");
  EXPECT_EQ(ended.out, "host0\nhost1\n") << ended.err;
}

// All that a testbed could leave: its namespaces held by a process, devices, mounts, processes.
class Leftovers {
 public:
  explicit Leftovers(const RunningTestbed& testbed) {
    const fs::path descriptors = "/proc/" + std::to_string(testbed.process()) + "/fd";
    for (int number : {control_descriptor, first_host_descriptor, first_host_descriptor + 1}) {
      held_.insert(fs::read_symlink(descriptors / std::to_string(number)).string());
    }
  }

  // Processes that hold its namespaces or have the marker among their arguments.
  [[nodiscard]] std::set<std::string> processes(const std::string& marker) const {
    std::set<std::string> found;
    for (const auto& entry : fs::directory_iterator("/proc")) {
      if (entry.path().filename().string().find_first_not_of("0123456789") != std::string::npos) {
        continue;
      }
      const std::string arguments = test::text_of(entry.path() / "cmdline");
      if (arguments.find(marker) != std::string::npos || holds(entry.path())) {
        found.insert(entry.path().filename().string());
      }
    }
    return found;
  }

 private:
  [[nodiscard]] bool holds(const fs::path& process) const {
    std::error_code gone;
    if (held_.contains(fs::read_symlink(process / "ns" / "net", gone).string())) return true;
    for (fs::directory_iterator i(process / "fd", gone), end; !gone && i != end;
         i.increment(gone)) {
      std::error_code closed;
      const std::string target = fs::read_symlink(i->path(), closed).string();
      if (target.rfind("net:", 0) == 0 && held_.contains(target)) return true;
    }
    return false;
  }

  std::set<std::string> held_;
};

std::vector<std::string> devices() {
  std::vector<std::string> names;
  struct if_nameindex* all = ::if_nameindex();
  for (struct if_nameindex* one = all; one->if_index != 0; ++one) names.emplace_back(one->if_name);
  ::if_freenameindex(all);
  return names;
}

std::string named_namespaces() {
  std::string names;
  std::error_code absent;
  for (fs::directory_iterator i("/run/netns", absent), end; !absent && i != end; ++i) {
    names += i->path().string() + '\n';
  }
  return names;
}

// Starts a testbed with a process in host 1 that has detached itself from all but its namespaces,
// ends it by `end`, and looks for what is left.
void expect_nothing_left(const std::function<void(const RunningTestbed&)>& end) {
  const std::string marker = "86399." + std::to_string(::getpid());  // seconds that sleep is given
  const auto devices_before = devices();
  const std::string names_before = named_namespaces();
  const std::string mounts_before = test::text_of("/proc/self/mountinfo");
  RunningTestbed testbed({"--hosts", "2", "--rate", "100Mbps"},
                         "$PACELINE_TESTBED_PROGRAM --enter 1 1 -- setsid -f nohup sleep " +
                             marker + " > /dev/null 2>&1; echo ready; exec sleep 600");
  ASSERT_EQ(testbed.line(), "ready");
  const Leftovers leftovers(testbed);
  EXPECT_GE(leftovers.processes(marker).size(), 2U);  // the testbed, init and sleep
  end(testbed);
  testbed.wait();
  constexpr int tries = 6000;  // a minute: after SIGKILL, init's death follows the testbed's
  for (int i = 0; i < tries && !leftovers.processes(marker).empty(); ++i) ::usleep(10'000);
  EXPECT_EQ(leftovers.processes(marker), std::set<std::string>{});
  EXPECT_EQ(devices(), devices_before);
  EXPECT_EQ(named_namespaces(), names_before);
  EXPECT_EQ(test::text_of("/proc/self/mountinfo"), mounts_before);
}

TEST_F(Testbed, LeavesNothingAfterSigterm) {
  expect_nothing_left([](const RunningTestbed& testbed) { ::kill(testbed.process(), SIGTERM); });
}

TEST_F(Testbed, LeavesNothingAfterSigint) {
  expect_nothing_left([](const RunningTestbed& testbed) { ::kill(testbed.process(), SIGINT); });
}

TEST_F(Testbed, LeavesNothingAfterSigkill) {
  expect_nothing_left([](const RunningTestbed& testbed) { ::kill(testbed.process(), SIGKILL); });
}

TEST_F(Testbed, LeavesNothingAfterItsCommandHasEnded) {
  expect_nothing_left([](const RunningTestbed& testbed) {
    // The shell that is COMMAND: the one child of init, which is the testbed's one child.
    const auto child_of = [](const std::string& process) {
      std::string child = test::text_of("/proc/" + process + "/task/" + process + "/children");
      return child.substr(0, child.find(' '));
    };
    ::kill(std::stoi(child_of(child_of(std::to_string(testbed.process())))), SIGKILL);
  });
}

}  // namespace
}  // namespace paceline::testbed
