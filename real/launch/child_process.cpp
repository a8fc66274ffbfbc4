#include "real/launch/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "real/errors.h"

namespace paceline::real {
namespace {

std::vector<std::string> environment_with(const std::map<std::string, std::string>& variables) {
  std::vector<std::string> all;
  for (char** one = environ; *one != nullptr; ++one) {
    const std::string entry = *one;
    if (!variables.contains(entry.substr(0, entry.find('=')))) all.push_back(entry);
  }
  for (const auto& [name, value] : variables) all.push_back(name + '=' + value);
  return all;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// All that the child needs between fork() and exec(), where it may not allocate.
struct Prepared {
  std::vector<char*> arguments, environment;
  std::string complaint;
  int errors = -1, nowhere = -1, inherited = -1;
  bool has_terminal = false;
  pid_t parent = 0;
};

[[noreturn]] void become(const Prepared& prepared) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != prepared.parent) ::_exit(environment_status);  // it died before that
  if (!prepared.has_terminal) {
    ::dup2(prepared.nowhere, STDIN_FILENO);
    ::dup2(prepared.errors, STDOUT_FILENO);
  }
  ::dup2(prepared.errors, STDERR_FILENO);
  if (prepared.inherited >= 0) ::fcntl(prepared.inherited, F_SETFD, 0);
  ::execvpe(prepared.arguments[0], prepared.arguments.data(), prepared.environment.data());
  const char* const why = ::strerrordesc_np(errno);
  (void)!::write(STDERR_FILENO, prepared.complaint.data(), prepared.complaint.size());
  (void)!::write(STDERR_FILENO, why, std::strlen(why));
  (void)!::write(STDERR_FILENO, "\n", 1);
  ::_exit(environment_status);
}

[[noreturn]] void fail(const std::string& call) {
  throw BackendError("", std::nullopt, "",
                     fmt::format("ranks cannot be started: {}: {}", call, std::strerror(errno)));
}

}  // namespace

Child start_child(const ChildRequest& request) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) fail("pipe");
  Child child;
  child.errors = Socket(ends[0]);
  const Socket write_end(ends[1]);
  const Socket nowhere(::open("/dev/null", O_RDWR | O_CLOEXEC));
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  auto command = request.command;
  auto environment = environment_with(request.variables);
  const Prepared prepared{pointers_to(command),
                          pointers_to(environment),
                          fmt::format("paceline-worker: {} cannot be started: ", command.at(0)),
                          write_end.file(),
                          nowhere.file(),
                          request.inherited,
                          request.has_terminal,
                          ::getpid()};
  child.pid = ::fork();
  if (child.pid < 0) fail("fork");
  if (child.pid == 0) become(prepared);
  // 0 flags; by number, as the C library of the oldest supported system has no declaration.
  child.ended = Socket(static_cast<int>(::syscall(SYS_pidfd_open, child.pid, 0)));
  return child;
}

}  // namespace paceline::real
