#include "scenarios/run/simulator.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "scenarios/run/line_process.h"
#include "scenarios/run/memory.h"
#include "scenarios/run/stop_request.h"

namespace paceline {
namespace {

traces::Reply parsed(const std::string& line, const ResolvedPoint& point) {
  try {
    auto reply = traces::reply_from_line(line, point.program);
    const auto id_of = [](const auto& either) { return either.id; };
    if (std::visit(id_of, reply) == point.id) return reply;
    return traces::Failure{point.id, "paceline-sim answered for another point"};
  } catch (const std::runtime_error& error) {
    return traces::Failure{point.id,
                           std::string("paceline-sim answered nonsense: ") + error.what()};
  }
}

// Of what is held of the machine's memory each has its part, unless all is forced; a small machine
// with many cores has a gigabyte for each, which few need.
std::optional<Bytes> memory_of_each(std::size_t jobs, bool force) {
  constexpr Bytes least(1U << 30U);
  const auto held = memory_held();
  if (!held || force) return held;
  return std::max(Bytes(held->value() / jobs), least);
}

// Asks a process, started when there is none; one without an answer is of no use any more.
traces::Reply reply_to(const Simulation& simulation, const ExecutorCommand& command,
                       std::optional<LineProcess>& process) {
  if (!process) process.emplace(command);
  const std::uint64_t id = simulation.point.id;
  LineProcess::Answer answer;
  try {
    answer = process->ask(traces::to_line(simulation.point), simulation.limit);
  } catch (const Stopped&) {
    process->kill();
    throw;
  }
  if (answer.line) return parsed(*answer.line, simulation.point);
  if (answer.too_late) process->kill();
  process.reset();
  if (!answer.too_late && StopRequest::is_made_or_comes()) throw Stopped();
  if (!answer.too_late) return traces::Failure{id, "paceline-sim died"};
  return traces::Failure{id, fmt::format("paceline-sim was killed: no answer within {:.3g} s; "
                                         "PACELINE_SIM_TIMEOUT sets the seconds it has",
                                         simulation.limit->value())};
}

// The next point of a queue for whichever worker asks. Once one has failed there is none.
class Turns {
 public:
  explicit Turns(const SimulationQueue& queue) : queue_(queue) {}

  // Works on points until there is none; keeps what is thrown for rethrow().
  void work(const ExecutorCommand& program, std::size_t jobs) {
    try {
      std::optional<LineProcess> process;
      while (const auto turn = next()) {
        ExecutorCommand command = program;
        command.memory_max = memory_of_each(jobs, turn->simulation.point.force);
        take(turn->index, reply_to(turn->simulation, command, process));
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!trouble_) trouble_ = std::current_exception();
      next_ = queue_.count;
    }
  }

  void rethrow() const {
    if (trouble_) std::rethrow_exception(trouble_);
  }

 private:
  struct Turn {
    std::size_t index;
    Simulation simulation;
  };

  std::optional<Turn> next() {
    const std::lock_guard lock(mutex_);
    if (next_ >= queue_.count) return std::nullopt;
    const std::size_t index = std::exchange(next_, queue_.count);  // the end, should it throw
    Turn turn{index, queue_.make(index)};
    next_ = index + 1;
    return turn;
  }

  void take(std::size_t index, traces::Reply reply) {
    const std::lock_guard lock(mutex_);
    const std::size_t next = std::exchange(next_, queue_.count);
    queue_.take(index, std::move(reply));
    next_ = next;
  }

  const SimulationQueue& queue_;
  std::mutex mutex_;
  std::size_t next_ = 0;
  std::exception_ptr trouble_;
};

}  // namespace

void simulate(const SimulationQueue& queue, std::size_t jobs) {
  // A process that dies must not take this one along when it is written to.
  const auto on_broken_pipe = std::signal(SIGPIPE, SIG_IGN);
  const ExecutorCommand program{"paceline-sim", {executor_path("paceline-sim")}, false};
  Turns turns(queue);
  std::vector<std::thread> workers;
  try {
    for (std::size_t i = 0; i < std::min(jobs, queue.count); ++i) {
      workers.emplace_back([&] { turns.work(program, jobs); });
    }
  } catch (const std::exception&) {
    // The machine has no room for more threads, or their memory: those there are do it.
    if (workers.empty()) throw;
  }
  for (std::thread& worker : workers) worker.join();
  std::signal(SIGPIPE, on_broken_pipe);
  turns.rethrow();
}

}  // namespace paceline
