// paceline-testbed: several hosts on one machine. README.md of this folder says how to use it.

#include <sched.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/types.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/testbed/command_tree.h"
#include "tests/testbed/host_entry.h"
#include "tests/testbed/host_network.h"
#include "tests/testbed/packet_switch.h"
#include "tests/testbed/testbed_options.h"

namespace paceline::testbed {
namespace {

constexpr int exit_usage = 2, exit_setup = 3;
constexpr int exit_limit = 124;  // as coreutils' timeout
// What COMMAND has to end by itself after the first signal.
constexpr std::chrono::seconds grace(5);
// Timers of a virtual machine are late by 20 to 50 us, and sleeps of less cost more than they are
// worth: a jumbo packet takes 180 us at 400 Mbit/s.
constexpr std::chrono::microseconds wake_lead(25), sleep_least(10);
// Without packets the loop wakes for its limits only.
constexpr std::chrono::milliseconds sleep_most(100);
constexpr std::uint32_t signal_event = hosts_most;  // hosts are 0 .. hosts_most - 1

double cpu_seconds() {
  timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

sigset_t handled_signals() {
  sigset_t handled;
  ::sigemptyset(&handled);
  for (const int number : {SIGCHLD, SIGHUP, SIGINT, SIGTERM}) ::sigaddset(&handled, number);
  return handled;
}

// Ahead of the processes whose packets it carries, where that is allowed: a late switch would be
// measured as a slow network. Timers without slack for the same reason. Children have neither.
void take_priority() {
  const sched_param lowest_real_time{1};
  ::sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &lowest_real_time);
  ::prctl(PR_SET_TIMERSLACK, 1UL);
}

// The switch at work, until COMMAND has ended.
class Testbed {
 public:
  Testbed(const RunOptions& options, ControlPage& control)
      : options_(options),
        networks_(options.hosts, options.link),
        switch_(networks_.devices(), options.link, control),
        tree_(options, networks_.devices()) {
    const sigset_t handled = handled_signals();
    signals_ = opened(::signalfd(-1, &handled, SFD_NONBLOCK | SFD_CLOEXEC), "signalfd");
    events_ = opened(::epoll_create1(EPOLL_CLOEXEC), "epoll");
    watch(signals_.number(), signal_event);
    const std::vector<int> devices = networks_.devices();
    for (std::uint32_t host = 0; host < devices.size(); ++host) watch(devices[host], host);
  }

  // The exit status.
  [[nodiscard]] int run() {
    take_priority();
    const Clock::time_point limit =
        Clock::now() + std::chrono::duration_cast<Clock::duration>(
                           std::chrono::duration<double>(options_.limit.value()));
    started_cpu_seconds_ = cpu_seconds();
    while (!has_ended_) {
      wait_and_receive();
      const Clock::time_point now = Clock::now();
      switch_.deliver(now);
      if (now >= limit && stop_status_ == 0) stop(SIGTERM, exit_limit);
      if (stop_status_ != 0 && now >= kill_at_) tree_.signal(SIGKILL);
    }
    return stop_status_ != 0 ? stop_status_ : tree_.exit_status();
  }

  void write_stats() const {
    if (options_.stats_file.empty()) return;
    nlohmann::ordered_json hosts = nlohmann::ordered_json::array();
    for (std::uint32_t host = 0; host < options_.hosts; ++host) hosts.push_back(stats_of(host));
    const nlohmann::ordered_json all{{"switch_cpu_s", cpu_seconds() - started_cpu_seconds_},
                                     {"hosts", hosts}};
    std::ofstream file(options_.stats_file);
    file << all.dump(2) << '\n';
    if (!file.flush()) throw SetupError(options_.stats_file + ": cannot be written");
  }

 private:
  void watch(int descriptor, std::uint32_t event) const {
    epoll_event request{};
    request.events = EPOLLIN;
    request.data.u32 = event;
    require(::epoll_ctl(events_.number(), EPOLL_CTL_ADD, descriptor, &request), "epoll_ctl");
  }

  [[nodiscard]] timespec sleep_duration() const {
    const auto next = switch_.next_departure();
    if (!next) return {0, std::chrono::nanoseconds(sleep_most).count()};
    std::chrono::nanoseconds sleep = *next - Clock::now();
    sleep = std::clamp<std::chrono::nanoseconds>(sleep - wake_lead, sleep_least, sleep_most);
    return {0, sleep.count()};
  }

  void wait_and_receive() {
    epoll_event ready[hosts_most + 1];
    const timespec sleep = sleep_duration();
    const int count = ::epoll_pwait2(events_.number(), ready, hosts_most + 1, &sleep, nullptr);
    for (int i = 0; i < count; ++i) {
      if (ready[i].data.u32 == signal_event) {
        handle_signals();
      } else {
        switch_.receive(ready[i].data.u32, Clock::now());
      }
    }
  }

  void handle_signals() {
    signalfd_siginfo info{};
    while (::read(signals_.number(), &info, sizeof(info)) == sizeof(info)) {
      const int number = static_cast<int>(info.ssi_signo);
      if (number == SIGCHLD) {
        has_ended_ = tree_.has_ended();
      } else if (stop_status_ != 0) {
        kill_at_ = Clock::now();  // asked twice: no grace
      } else {
        // A terminal's signal has reached COMMAND too: it is in the same process group.
        stop(info.ssi_code == SI_KERNEL ? 0 : number, 128 + number);
      }
    }
  }

  void stop(int signal, int status) {
    stop_status_ = status;
    kill_at_ = Clock::now() + grace;
    tree_.signal(signal);
  }

  [[nodiscard]] nlohmann::ordered_json stats_of(std::uint32_t host) const {
    const PortCounters& counters = switch_.counters(host);
    const DeviceDrops drops = networks_.drops(host);
    return {{"packets_sent", counters.packets_sent},
            {"bytes_sent", counters.bytes_sent},
            {"packets_received", counters.packets_received},
            {"bytes_received", counters.bytes_received},
            {"bytes_queued_max", counters.bytes_queued_max},
            {"packets_dropped_by_queue", counters.packets_dropped_by_queue},
            {"packets_dropped_by_link", counters.packets_dropped_by_link},
            {"packets_dropped_by_token_bucket", drops.by_token_bucket},
            {"packets_dropped_by_device", drops.by_device},
            {"packets_refused", counters.packets_refused}};
  }

  const RunOptions& options_;
  HostNetworks networks_;
  PacketSwitch switch_;
  CommandTree tree_;
  Descriptor signals_, events_;
  double started_cpu_seconds_ = 0;
  bool has_ended_ = false;
  int stop_status_ = 0;  // set: all is being ended, and this is why
  Clock::time_point kill_at_{};
};

int run_testbed(const std::vector<std::string>& arguments) {
  const RunOptions options = parse_run_options(arguments);
  const sigset_t handled = handled_signals();
  ::sigprocmask(SIG_BLOCK, &handled, nullptr);
  Testbed testbed(options, make_control_page(options.hosts));
  const int status = testbed.run();
  testbed.write_stats();
  return status;
}

pid_t process_of(const std::string& text) {
  constexpr std::uint32_t pid_most = 4'194'304;  // the kernel's PID_MAX_LIMIT
  return static_cast<pid_t>(parse_count("PID", text, 1, pid_most));
}

int enter(const std::vector<std::string>& arguments) {
  std::vector<std::string> command(arguments.begin() + std::min<long>(2, std::ssize(arguments)),
                                   arguments.end());
  if (!command.empty() && command.front() == "--") command.erase(command.begin());
  if (command.empty()) throw UsageError("--enter takes PID HOST -- COMMAND");
  enter_host(process_of(arguments[0]), parse_count("HOST", arguments[1], 0, hosts_most - 1));
  return execute(command);
}

// What ssh does with HOST COMMAND...: joins the words for a shell there. HOST is a name or an
// address.
int run_as_remote_shell(const std::vector<std::string>& arguments) {
  const char* testbed = std::getenv("PACELINE_TESTBED_PID");
  if (testbed == nullptr) throw UsageError("--rsh-agent: PACELINE_TESTBED_PID is not set");
  if (arguments.size() < 2) throw UsageError("--rsh-agent takes HOST COMMAND");
  std::uint32_t host = 0;
  while (host < hosts_most && arguments[0] != host_name(host) && arguments[0] != host_address(host))
    ++host;
  if (host == hosts_most) throw SetupError(arguments[0] + " is no host's name or address");
  std::string line = arguments[1];
  for (std::size_t i = 2; i < arguments.size(); ++i) line += ' ' + arguments[i];
  enter_host(process_of(testbed), host);
  return execute({"/bin/sh", "-c", line});
}

int change_link(const std::vector<std::string>& arguments, bool is_down) {
  if (arguments.size() != 2) throw UsageError("--link-down and --link-up take PID HOST");
  set_link_down(process_of(arguments[0]), parse_count("HOST", arguments[1], 0, hosts_most - 1),
                is_down);
  return 0;
}

int run_program(const std::vector<std::string>& arguments) {
  const std::string first = arguments.empty() ? "" : arguments.front();
  const std::vector<std::string> rest(arguments.begin() + (arguments.empty() ? 0 : 1),
                                      arguments.end());
  if (first == "--enter") return enter(rest);
  if (first == "--rsh-agent") return run_as_remote_shell(rest);
  if (first == "--link-down") return change_link(rest, true);
  if (first == "--link-up") return change_link(rest, false);
  if (first == "--help") {
    std::fputs(usage(), stdout);
    return 0;
  }
  return run_testbed(arguments);
}

}  // namespace
}  // namespace paceline::testbed

int main(int argc, char** argv) {
  using namespace paceline::testbed;
  try {
    return run_program({argv + 1, argv + argc});
  } catch (const UsageError& error) {
    std::fprintf(stderr, "paceline-testbed: %s (--help shows the usage)\n", error.what());
    return exit_usage;
  } catch (const SetupError& error) {
    std::fprintf(stderr, "paceline-testbed: %s\n", error.what());
    return exit_setup;
  }
}
