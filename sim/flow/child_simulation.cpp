#include "sim/flow/child_simulation.h"

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

#include "models/contract.h"
#include "sim/flow/flow_step.h"
#include "sim/flow/rate_solver.h"
#include "traces/json/protocol.h"

namespace paceline::sim {

using sim::Attempt;
using sim::NotFolded;

namespace {

// How a child that wrote its whole text ends.
enum Status : int { done = 0, not_folded = 5, failed = 6 };

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

Result simulated(const ResolvedPoint& point, Attempt attempt) {
  switch (attempt) {
    case Attempt::folded_exact: return simulate_folded(point, sim::Chunks::exact);
    case Attempt::folded_even: return simulate_folded(point, sim::Chunks::even);
    case Attempt::flow: return simulate_flow(point);
  }
  PACELINE_UNREACHABLE("an attempt outside the enumeration");
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

// In the child: writes the line of the result, or why there is none, whatever happens.
[[noreturn]] void run_and_exit(const ResolvedPoint& point, Attempt attempt, int output) {
  const rlim_t limit = limit_memory(point.force);
  Status status = failed;
  std::string text;
  try {
    text = traces::to_line(traces::Reply(simulated(point, attempt)));
    status = done;
  } catch (const NotFolded& reason) {
    text = reason.what();
    status = not_folded;
  } catch (const std::bad_alloc&) {
    text = out_of_memory(limit);
  } catch (const std::exception& error) {
    text = error.what();
  }
  const bool written = write_all(output, text);
  // Not exit(): the parent's buffers and SimGrid's own exit handlers are not this process's.
  std::_Exit(written ? status : 3);
}

[[noreturn]] void throw_not_started() {
  throw SimulationDied(std::string("the simulation cannot be started: ") + std::strerror(errno));
}

}  // namespace

Result simulate_in_child(const ResolvedPoint& point, Attempt attempt) {
  int ends[2];
  if (::pipe(ends) != 0) throw_not_started();
  const pid_t server = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) {
    // No simulation outlives its server, also one that died before this took effect.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != server) std::_Exit(3);
    ::close(ends[0]);
    run_and_exit(point, attempt, ends[1]);
  }
  const int trouble = errno;
  ::close(ends[1]);
  std::string text = child < 0 ? "" : read_all(ends[0]);
  ::close(ends[0]);
  errno = trouble;
  if (child < 0) throw_not_started();
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) {
    throw SimulationDied(std::string("the simulation was ended by ") + strsignal(WTERMSIG(status)));
  }
  switch (WEXITSTATUS(status)) {
    case done: return std::get<Result>(traces::reply_from_line(text, point.program));
    case not_folded: throw NotFolded(text);
    case failed: throw SimulationDied(text);
    default:
      throw SimulationDied("the simulation ended with status " +
                           std::to_string(WEXITSTATUS(status)));
  }
}

}  // namespace paceline::sim
