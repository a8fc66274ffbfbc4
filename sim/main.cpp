// paceline-sim: reads points as JSON lines, runs each on SimGrid in a child process of its own
// (SimGrid has one engine a process), and writes a line for each. A child that dies costs its point
// only.

#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iostream>
#include <string>

#include "sim/flow_step.h"
#include "traces/json/protocol.h"

namespace paceline::sim {
namespace {

bool write_all(int file, const std::string& text) {
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t n = ::write(file, text.data() + written, text.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    written += static_cast<std::size_t>(n);
  }
  return true;
}

std::string read_all(int file) {
  std::string text;
  char buffer[65536];
  while (true) {
    const ssize_t n = ::read(file, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(n));
  }
}

// In the child: the line of a result, whatever happens.
std::string simulated(const ResolvedPoint& point) {
  try {
    return traces::to_line(traces::Reply(simulate_flow(point)));
  } catch (const std::exception& error) {
    return traces::to_line(traces::Reply(traces::Failure{point.id, error.what()}));
  }
}

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status)) return std::string("was ended by ") + strsignal(WTERMSIG(status));
  return "ended with status " + std::to_string(WEXITSTATUS(status));
}

std::string run_in_child(const ResolvedPoint& point) {
  int ends[2];
  if (::pipe(ends) != 0) {
    return traces::to_line(traces::Reply(traces::Failure{point.id, std::strerror(errno)}));
  }
  const pid_t server = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) {
    // No simulation outlives its server, also one that died before this took effect.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != server) std::_Exit(3);
    ::close(ends[0]);
    const bool written = write_all(ends[1], simulated(point));
    // Not exit(): the parent's buffers and SimGrid's own exit handlers are not this process's.
    std::_Exit(written ? 0 : 3);
  }
  ::close(ends[1]);
  if (child < 0) {
    ::close(ends[0]);
    return traces::to_line(traces::Reply(traces::Failure{point.id, std::strerror(errno)}));
  }
  const std::string line = read_all(ends[0]);
  ::close(ends[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return line;
  return traces::to_line(
      traces::Reply(traces::Failure{point.id, "the simulation " + how_it_ended(status)}));
}

int serve() {
  // Nor does a server outlive the program that started it; if that died before this took effect,
  // nobody reads any more.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  pollfd output{STDOUT_FILENO, 0, 0};
  if (::poll(&output, 1, 0) > 0 && (output.revents & POLLERR) != 0) return 3;
  std::string line;
  while (std::getline(std::cin, line)) {
    std::string reply;
    try {
      const ResolvedPoint point = traces::point_from_line(line);
      const auto fault = find_fault(point.program);
      reply = fault ? traces::to_line(traces::Reply(traces::Failure{point.id, *fault}))
                    : run_in_child(point);
    } catch (const std::exception& error) {
      std::cerr << "paceline-sim: not a point: " << error.what() << '\n';
      return 2;
    }
    if (!write_all(STDOUT_FILENO, reply + '\n')) return 3;
  }
  return 0;
}

}  // namespace
}  // namespace paceline::sim

int main(int argc, char**) {
  if (argc > 1) {
    std::cerr << "paceline-sim takes no arguments: it reads points as JSON lines from standard "
                 "input; `paceline run` starts it\n";
    return 2;
  }
  return paceline::sim::serve();
}
