// paceline-sim: reads points as JSON lines, runs each on SimGrid in a child process of its own
// (SimGrid has one engine a process), and writes a line for each. A child that dies costs its point
// only.

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iostream>
#include <limits>
#include <new>
#include <optional>
#include <string>

#include "models/contract.h"
#include "models/cost/auto_choice.h"
#include "models/cost/calls_alone.h"
#include "models/cost/closed_step.h"
#include "models/cost/deep_trees.h"
#include "models/cost/effort.h"
#include "sim/flow_step.h"
#include "sim/folded_step.h"
#include "traces/json/protocol.h"

namespace paceline::sim {
namespace {

using traces::Failure;
using traces::Reply;
using traces::to_line;

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

// What is tried in turn until one of them can do the point.
enum class Attempt { folded_exact, folded_even, flow };

// To the element, ranks that do not divide the count are all different, and so are ranks that a
// broadcast lets go one after another: each is followed, at about a microsecond a transfer. Above
// this many, chunks are taken as even, unless that would change too much.
constexpr double few_transfers_max = 1e5;
std::string simulated(const ResolvedPoint& point, Attempt attempt) {
  switch (attempt) {
    case Attempt::folded_exact: return to_line(Reply(simulate_folded(point, Chunks::exact)));
    case Attempt::folded_even: return to_line(Reply(simulate_folded(point, Chunks::even)));
    case Attempt::flow: return to_line(Reply(simulate_flow(point)));
  }
  PACELINE_UNREACHABLE("an attempt outside the enumeration");
}

// How a child ended.
struct Outcome {
  enum class Kind { done, not_folded, died } kind;
  std::string text;  // the line of a reply, the reason, or what it died of
};

constexpr int not_folded_status = 5;

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

// In the child: writes the line of a result or a failure, whatever happens.
[[noreturn]] void run_and_exit(const ResolvedPoint& point, Attempt attempt, int output) {
  const rlim_t limit = limit_memory(point.force);
  int status = 0;
  std::string text;
  try {
    text = simulated(point, attempt);
  } catch (const NotFolded& reason) {
    text = reason.what();
    status = not_folded_status;
  } catch (const std::bad_alloc&) {
    text = to_line(Reply(Failure{point.id, out_of_memory(limit)}));
  } catch (const std::exception& error) {
    text = to_line(Reply(Failure{point.id, error.what()}));
  }
  const bool written = write_all(output, text);
  // Not exit(): the parent's buffers and SimGrid's own exit handlers are not this process's.
  std::_Exit(written ? status : 3);
}

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status)) return std::string("was ended by ") + strsignal(WTERMSIG(status));
  return "ended with status " + std::to_string(WEXITSTATUS(status));
}

Outcome run_in_child(const ResolvedPoint& point, Attempt attempt) {
  int ends[2];
  if (::pipe(ends) != 0) return {Outcome::Kind::died, std::strerror(errno)};
  const pid_t server = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) {
    // No simulation outlives its server, also one that died before this took effect.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != server) std::_Exit(3);
    ::close(ends[0]);
    run_and_exit(point, attempt, ends[1]);
  }
  ::close(ends[1]);
  if (child < 0) {
    ::close(ends[0]);
    return {Outcome::Kind::died, std::strerror(errno)};
  }
  const std::string text = read_all(ends[0]);
  ::close(ends[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {Outcome::Kind::done, text};
  if (WIFEXITED(status) && WEXITSTATUS(status) == not_folded_status) {
    return {Outcome::Kind::not_folded, text};
  }
  return {Outcome::Kind::died, "the simulation " + how_it_ended(status)};
}

std::string line_of(const ResolvedPoint& point, const Outcome& outcome) {
  if (outcome.kind == Outcome::Kind::done) return outcome.text;
  return to_line(Reply(Failure{point.id, outcome.text}));
}

// The flow simulation in place of a folded one, with the reason; or a refusal.
std::string fall_back(const ResolvedPoint& point, const cost::Work& work,
                      const std::string& reason) {
  if (!point.force && cost::is_too_much_for_flow(point, work)) {
    return to_line(Reply(Failure{
        point.id,
        fmt::format("{} GPUs cannot be folded ({}) and take {:.3g} simulated transfers, about "
                    "{:.0f} minutes",
                    job_cluster(point).ranks().value(), reason, work.transfers,
                    cost::flow_time(point, work).value() / 60),
        true}));
  }
  const Outcome outcome = run_in_child(point, Attempt::flow);
  if (outcome.kind != Outcome::Kind::done) return line_of(point, outcome);
  Reply reply = traces::reply_from_line(outcome.text, point.program);
  if (auto* result = std::get_if<Result>(&reply)) {
    result->notes.push_back("folded: fell back to flow: " + reason);
  }
  return to_line(reply);
}

Outcome fold(const ResolvedPoint& point, double transfers) {
  // Where equal chunks are no good approximation, every rank is followed as long as may be.
  const bool evens_out = one_call_at_a_time(point);
  if (transfers <= (evens_out ? few_transfers_max : cost::flow_transfers_max)) {
    return run_in_child(point, Attempt::folded_exact);
  }
  Outcome outcome = run_in_child(point, Attempt::folded_even);
  if (outcome.kind == Outcome::Kind::not_folded && transfers <= cost::flow_transfers_max) {
    outcome = run_in_child(point, Attempt::folded_exact);
  }
  return outcome;
}

// The times of calls alone, and how they were found.
class CallsAlone {
 public:
  Seconds time(const ResolvedPoint& one) {
    if (const auto trees = cost::shallow_trees(one)) {
      deep_trees_ = true;
      return trees->extrapolated(simulated(trees->fewer), simulated(trees->more));
    }
    return simulated(one);
  }

  [[nodiscard]] std::uint64_t solves() const { return solves_; }

  [[nodiscard]] std::string note() const {
    return fmt::format(
        "folded: too many {} to follow; all ranks begin and end each together, as {} simulated "
        "alone have it{}{}",
        deep_trees_ ? "ranks of trees over nodes" : "collectives", simulated_,
        by_formula_ == 0 ? "" : fmt::format(", and {} by formulas", by_formula_),
        deep_trees_ ? "; by their depth from trees over up to 64 nodes, up to 5 % off" : "");
  }

 private:
  // More transfers of a call are not simulated by flow, which takes 2 to 5 us each
  // (cost::flow_time).
  static constexpr double alone_by_flow_max = 1e6;

  Seconds simulated(const ResolvedPoint& one) {
    const double transfers = cost::transfers_about(one);
    Outcome outcome = fold(one, transfers);
    if (outcome.kind == Outcome::Kind::not_folded && transfers <= alone_by_flow_max) {
      outcome = run_in_child(one, Attempt::flow);
    }
    if (outcome.kind == Outcome::Kind::done) {
      const Reply reply = traces::reply_from_line(outcome.text, one.program);
      if (const auto* result = std::get_if<Result>(&reply)) {
        solves_ += result->simgrid_solves;
        ++simulated_;
        return result->totals.step;
      }
    }
    ++by_formula_;
    return cost::predict_closed(one).totals.step;
  }

  std::uint64_t solves_ = 0;
  std::size_t simulated_ = 0, by_formula_ = 0;
  bool deep_trees_ = false;
};

// A step whose calls cannot be followed through it, one at a time: each is simulated alone, or
// where that cannot be folded is as formulas have it, and all ranks end it together.
std::string run_calls_alone(ResolvedPoint point, double transfers) {
  CallsAlone calls;
  cost::time_calls_alone(point, [&](const ResolvedPoint& one) { return calls.time(one); });
  const Outcome outcome = run_in_child(point, Attempt::folded_even);
  if (outcome.kind != Outcome::Kind::done) return line_of(point, outcome);
  Reply reply = traces::reply_from_line(outcome.text, point.program);
  if (auto* result = std::get_if<Result>(&reply)) {
    result->transfers = static_cast<std::uint64_t>(transfers);
    result->simgrid_solves = calls.solves();
    result->notes.push_back(calls.note());
  }
  return to_line(reply);
}

bool has_deep_trees(const ResolvedPoint& point) {
  return std::ranges::any_of(point.program.operations, [&](const training::Operation& operation) {
    const auto* call = call_of(operation);
    return call != nullptr && cost::shallow_trees(cost::alone(point, *call));
  });
}

bool has_several_calls(const training::StepProgram& program) {
  return std::ranges::count_if(program.operations, [](const training::Operation& operation) {
           const auto* call = call_of(operation);
           return call != nullptr && call->simulated() != nullptr;
         }) > 1;
}

std::string run_folded(const ResolvedPoint& point) {
  const cost::Work work = cost::work_about(point);
  const double transfers = work.transfers;
  if (transfers == std::numeric_limits<double>::infinity()) {
    return to_line(
        Reply(Failure{point.id,
                      fmt::format("{} GPUs make rounds of more transfers than fit in memory",
                                  point.cluster.ranks().value()),
                      true}));
  }
  if (!point.force && one_call_at_a_time(point) && has_deep_trees(point)) {
    return run_calls_alone(point, transfers);
  }
  const Outcome outcome = fold(point, transfers);
  if (outcome.kind != Outcome::Kind::not_folded) return line_of(point, outcome);
  const bool is_refused = !point.force && cost::is_too_much_for_flow(point, work);
  if (is_refused && one_call_at_a_time(point) && has_several_calls(point.program)) {
    return run_calls_alone(point, transfers);
  }
  return fall_back(point, work, outcome.text);
}

std::string run_named(const ResolvedPoint& point) {
  if (const auto fault = find_fault(point.program)) {
    return to_line(Reply(Failure{point.id, *fault}));
  }
  if (point.fidelity == Fidelity::folded) return run_folded(point);
  return line_of(point, run_in_child(point, Attempt::flow));
}

std::string run_point(ResolvedPoint point) {
  if (const auto fault = find_fault(point)) return to_line(Reply(Failure{point.id, *fault}));
  cost::AutomaticChoice chosen;
  try {
    chosen = cost::choose_automatically(point, [](ResolvedPoint one) {
      one.fidelity = Fidelity::folded;
      const Reply reply = traces::reply_from_line(run_named(one), one.program);
      const auto* result = std::get_if<Result>(&reply);
      return result == nullptr ? std::nullopt : std::optional(result->totals.step);
    });
  } catch (const std::runtime_error& error) {
    return to_line(Reply(Failure{point.id, error.what()}));
  }
  if (chosen.algorithms.empty()) return run_named(point);
  Reply reply = traces::reply_from_line(run_named(point), point.program);
  if (auto* result = std::get_if<Result>(&reply)) chosen.add_to(*result);
  return to_line(reply);
}

int serve() {
  // Nor does a server outlive the program that started it; if that died before this took effect,
  // no process reads any more.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  pollfd output{STDOUT_FILENO, 0, 0};
  if (::poll(&output, 1, 0) > 0 && (output.revents & POLLERR) != 0) return 3;
  std::string line;
  while (std::getline(std::cin, line)) {
    std::string reply;
    try {
      const ResolvedPoint point = traces::point_from_line(line);
      reply = run_point(point);
    } catch (const std::bad_alloc&) {
      std::cerr << "paceline-sim: not enough memory\n";
      return 3;
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
