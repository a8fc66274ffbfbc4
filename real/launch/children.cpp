#include "real/launch/children.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "real/errors.h"

namespace paceline::real {
namespace {

[[noreturn]] void fail_to_start(const char* call) {
  throw BackendError(fmt::format("ranks cannot be started: {}: {}", call, std::strerror(errno)));
}

void reap(Child& child) {
  int status = 0;
  if (child.status || ::waitpid(child.pid, &status, WNOHANG) != child.pid) return;
  child.status = status;
  child.ended = steady_now();
}

void hear(Child& child) {
  std::array<char, 65536> bytes;
  while (child.errors) {
    const ssize_t n = ::read(child.errors.file(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return;
    if (n == 0) child.errors = Socket();
    child.said.append(bytes.data(), static_cast<std::size_t>(n));
  }
}

}  // namespace

Signals::Signals() {
  sigset_t ours;
  ::sigemptyset(&ours);
  for (const int number : {SIGINT, SIGTERM, SIGCHLD}) ::sigaddset(&ours, number);
  file_ = Socket(::signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!file_) fail_to_start("signalfd");
  ::sigprocmask(SIG_BLOCK, &ours, &before_);
}

Signals::~Signals() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }

int Signals::take() const {
  signalfd_siginfo one{};
  while (::read(file(), &one, sizeof one) == sizeof one) {
    if (one.ssi_signo != SIGCHLD) return static_cast<int>(one.ssi_signo);
  }
  return 0;
}

Child start_child(std::vector<std::string> command,
                  const std::map<std::string, std::string>& variables, bool has_terminal) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) fail_to_start("pipe");
  Child child{0, Socket(ends[0]), {}};
  const Socket write_end(ends[1]);
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  const pid_t parent = ::getpid();
  child.pid = ::fork();
  if (child.pid < 0) fail_to_start("fork");
  if (child.pid > 0) return child;

  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(environment_status);  // it died before that
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (!has_terminal) {
    ::dup2(::open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
    ::dup2(write_end.file(), STDOUT_FILENO);
  }
  ::dup2(write_end.file(), STDERR_FILENO);
  for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> words;
  for (std::string& word : command) words.push_back(word.data());
  words.push_back(nullptr);
  ::execvp(words[0], words.data());
  ::dprintf(STDERR_FILENO, "paceline-worker: %s cannot be started: %s\n", words[0],
            std::strerror(errno));
  ::_exit(environment_status);
}

int attend(std::span<Child> children, const Signals& signals, std::optional<Seconds> until) {
  std::vector<pollfd> polled{{signals.file(), POLLIN, 0}};
  for (const Child& child : children) polled.push_back({child.errors.file(), POLLIN, 0});
  ::poll(polled.data(), polled.size(), until ? milliseconds_until(*until) : -1);
  const int number = signals.take();
  for (Child& child : children) {
    reap(child);
    hear(child);  // after it has ended, all
  }
  return number;
}

// "PID (name) STATE ...", where the name may hold anything (proc(5)).
bool is_stopped(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(file, text);
  const auto name_end = text.rfind(") ");
  return name_end != std::string::npos && text.substr(name_end + 2, 1) == "T";
}

}  // namespace paceline::real
