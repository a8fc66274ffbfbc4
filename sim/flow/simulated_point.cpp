#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <optional>

#include "sim/flow/flow_step.h"
#include "traces/json/protocol.h"

namespace paceline::sim {
namespace {

using traces::Failure;
using traces::Reply;

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

// What a simulation may take of the address space unless it is forced. Sanitizers take more.
constexpr rlim_t memory_max = rlim_t{8} << 30;

// Of this process, whose limit may be lower; returns it, in bytes.
rlim_t limit_memory([[maybe_unused]] bool forced) {
  rlimit memory{};
  ::getrlimit(RLIMIT_AS, &memory);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  if (forced) return memory.rlim_cur;
  memory.rlim_cur = std::min(memory.rlim_cur, memory_max);
  ::setrlimit(RLIMIT_AS, &memory);
#endif
  return memory.rlim_cur;
}

std::string out_of_memory(rlim_t limit) {
  if (limit == RLIM_INFINITY) return "the simulation needs more memory than there is";
  return fmt::format("the simulation needs more than the {:.2g} GiB of memory that it has{}",
                     static_cast<double>(limit) / (1 << 30),
                     limit == memory_max ? "; --force lifts that limit" : "");
}

Reply simulated(const ResolvedPoint& point, rlim_t limit) {
  try {
    return simulate_flow(point);
  } catch (const std::bad_alloc&) {
    return Failure{point.id, out_of_memory(limit)};
  } catch (const std::exception& error) {
    return Failure{point.id, error.what()};
  }
}

// In the child: writes the line of the reply, whatever happens.
[[noreturn]] void run_and_exit(const ResolvedPoint& point, int output) {
  const rlim_t limit = limit_memory(point.force);
  const bool written = write_all(output, to_line(simulated(point, limit)));
  // Not exit(): the parent's buffers and SimGrid's own exit handlers are not this process's.
  std::_Exit(written ? 0 : 3);
}

// SimGrid has one engine a process.
std::string simulate_in_child(const ResolvedPoint& point) {
  const auto failed = [&](const std::string& why) {
    return to_line(Reply(Failure{point.id, why}));
  };
  int ends[2];
  const bool has_pipe = ::pipe(ends) == 0;
  const pid_t server = ::getpid();
  const pid_t child = has_pipe ? ::fork() : -1;
  if (child == 0) {
    // No simulation outlives its server, also one that died before this took effect.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != server) std::_Exit(3);
    ::close(ends[0]);
    run_and_exit(point, ends[1]);
  }
  const std::string trouble = child < 0 ? std::strerror(errno) : "";
  if (has_pipe) ::close(ends[1]);
  const std::string line = child < 0 ? "" : read_all(ends[0]);
  if (has_pipe) ::close(ends[0]);
  if (child < 0) return failed("the simulation cannot be started: " + trouble);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) {
    return failed(std::string("the simulation was ended by ") + strsignal(WTERMSIG(status)));
  }
  const int code = WEXITSTATUS(status);
  return code == 0 ? line : failed("the simulation ended with status " + std::to_string(code));
}

}  // namespace

std::string reply_to(const ResolvedPoint& point) {
  std::optional<std::string> fault = find_fault(point);
  if (!fault) fault = find_fault(point.program);
  if (fault) return to_line(Reply(Failure{point.id, *fault}));
  return simulate_in_child(point);
}

}  // namespace paceline::sim
