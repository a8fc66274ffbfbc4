#include "tests/testbed/command_tree.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tests/testbed/host_entry.h"

namespace paceline::testbed {
namespace {

constexpr int init_failed = 3;  // as other failures to set up

// The death signal is for deaths from now on; the pipe tells of one before.
void end_with_parent(const Descriptor& lifeline) {
  require(::prctl(PR_SET_PDEATHSIG, SIGKILL), "prctl");
  pollfd parent{lifeline.number(), 0, 0};
  if (::poll(&parent, 1, 0) != 0) std::_Exit(init_failed);
}

// A file over /etc/hosts for this mount namespace only: on a file system in memory that has no
// other name once it is taken off /tmp again.
void mount_hosts_file(std::uint32_t hosts) {
  std::ostringstream text;
  text << std::ifstream("/etc/hosts").rdbuf();
  text.clear();  // set where /etc/hosts is empty
  for (std::uint32_t host = 0; host < hosts; ++host) {
    text << host_address(host) << ' ' << host_name(host) << '\n';
  }
  require(::mount("tmpfs", "/tmp", "tmpfs", 0, "mode=755"), "mount a tmpfs");
  std::ofstream("/tmp/hosts") << text.str();
  require(::mount("/tmp/hosts", "/etc/hosts", nullptr, MS_BIND, nullptr), "mount /etc/hosts");
  require(::umount2("/tmp", MNT_DETACH), "umount");
}

void prepare_mounts(std::uint32_t hosts) {
  require(::unshare(CLONE_NEWNS), "a mount namespace");
  require(::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr), "mount /");
  require(::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr),
          "mount /proc");
  mount_hosts_file(hosts);
}

void set_variable(const std::string& name, const std::string& value) {
  ::setenv(name.c_str(), value.c_str(), 1);
}

void prepare_environment(const RunOptions& options, const std::string& program) {
  set_variable("PACELINE_TESTBED_PID", "1");
  set_variable("PACELINE_TESTBED_HOSTS", std::to_string(options.hosts));
  set_variable("PACELINE_TESTBED_PROGRAM", program);
  set_variable("PACELINE_HOST_PREFIX", program + " --enter 1 {rank} --");
  for (std::uint32_t host = 0; host < options.hosts; ++host) {
    set_variable("PACELINE_TESTBED_ADDRESS_" + std::to_string(host), host_address(host));
  }
}

[[noreturn]] void become_command(const RunOptions& options) {
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  int status = init_failed;
  try {
    if (options.inside) enter_host(1, *options.inside);
    status = execute(options.command);
  } catch (const SetupError& error) {
    std::fprintf(stderr, "paceline-testbed: %s\n", error.what());
  }
  std::_Exit(status);
}

int shell_status(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// Reaps all orphans, passes signals on, and ends with COMMAND.
[[noreturn]] void run_as_init(pid_t command) {
  sigset_t awaited;
  ::sigprocmask(SIG_SETMASK, nullptr, &awaited);
  for (;;) {
    siginfo_t info{};
    const int number = ::sigwaitinfo(&awaited, &info);
    if (number > 0 && number != SIGCHLD) ::kill(command, number);
    int status = 0;
    for (pid_t ended = 0; (ended = ::waitpid(-1, &status, WNOHANG)) > 0;) {
      if (ended == command) std::_Exit(shell_status(status));
    }
  }
}

[[noreturn]] void init_main(const RunOptions& options, const std::string& program,
                            const Descriptor& lifeline) {
  try {
    end_with_parent(lifeline);
    prepare_mounts(options.hosts);
    prepare_environment(options, program);
    const pid_t command = ::fork();
    require(command, "fork");
    if (command == 0) become_command(options);
    run_as_init(command);
  } catch (const SetupError& error) {
    std::fprintf(stderr, "paceline-testbed: %s\n", error.what());
    std::_Exit(init_failed);
  }
}

std::string own_program() {
  char path[4096];
  const ssize_t length = ::readlink("/proc/self/exe", path, sizeof(path));
  require(static_cast<int>(length), "/proc/self/exe");
  return std::string(path, static_cast<std::size_t>(length));
}

}  // namespace

CommandTree::CommandTree(const RunOptions& options, const std::vector<int>& devices) {
  int ends[2];
  require(::pipe2(ends, O_CLOEXEC), "pipe");
  Descriptor watched(ends[0]);
  lifeline_ = Descriptor(ends[1]);
  const std::string program = own_program();
  const Descriptor own = opened(::open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC), "own processes");
  require(::unshare(CLONE_NEWPID), "a process namespace");
  init_ = ::fork();
  require(init_, "fork");
  if (init_ == 0) {
    lifeline_ = Descriptor();
    for (const int device : devices) ::close(device);
    init_main(options, program, watched);
  }
  require(::setns(own.number(), CLONE_NEWPID), "setns back");  // for children yet to come
}

void CommandTree::signal(int number) const {
  if (init_ > 0) ::kill(init_, number);
}

bool CommandTree::has_ended() {
  int status = 0;
  if (init_ <= 0 || ::waitpid(init_, &status, WNOHANG) != init_) return false;
  init_ = -1;
  exit_status_ = shell_status(status);
  return true;
}

}  // namespace paceline::testbed
