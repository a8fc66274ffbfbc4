#pragma once

#include <sys/types.h>

#include <csignal>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "real/launch/socket.h"

namespace paceline::real {

struct Child {
  pid_t pid = 0;
  Socket errors;     // what it writes to stderr, and to stdout unless it has the terminal
  std::string said;  // of that so far; whoever reads it takes it out
  std::optional<int> status = {};  // as waitpid() says; nullopt while it runs
  Seconds ended = {};
};

// Starts a program, found as a shell does, with variables beside those of this process or instead.
// With the terminal it has this process's stdin and stdout, else no stdin. It is killed when the
// calling thread ends. Throws BackendError. Precondition: this process has no other thread.
[[nodiscard]] Child start_child(std::vector<std::string> command,
                                const std::map<std::string, std::string>& variables,
                                bool has_terminal);

// Keeps SIGINT, SIGTERM and SIGCHLD for attend() in a process of one thread. Throws BackendError.
class Signals {
 public:
  Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  ~Signals();

  [[nodiscard]] int file() const { return file_.file(); }
  // SIGINT or SIGTERM if one came, or 0.
  [[nodiscard]] int take() const;

 private:
  sigset_t before_{};
  Socket file_;
};

// By a signal (SIGSTOP, Ctrl-Z), until it is told to go on.
[[nodiscard]] bool is_stopped(pid_t process);

// Waits until a child says something or ends, a signal comes or the time is over, and notes what
// the children have said and which of them have ended. Returns SIGINT or SIGTERM if one came, or 0.
int attend(std::span<Child> children, const Signals& signals, std::optional<Seconds> until);

}  // namespace paceline::real
