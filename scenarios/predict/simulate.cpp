#include "scenarios/predict/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "scenarios/process/executor_path.h"
#include "scenarios/process/line_process.h"
#include "scenarios/process/memory.h"
#include "scenarios/process/stop_request.h"
#include "sim/folded/predicted_point.h"

namespace paceline {
namespace {

// Of what is held of the machine's memory each has its part, unless all is forced; a small machine
// with many cores has a gigabyte for each, which few need.
std::optional<Bytes> memory_of_each(std::size_t among, bool force) {
  constexpr Bytes least(1U << 30U);
  const auto held = memory_held();
  if (!held || force) return held;
  return std::max(Bytes(held->value() / among), least);
}

// What the process answered; nothing where that is no answer to this point.
std::optional<traces::Reply> parsed(const std::string& line, const ResolvedPoint& point,
                                    std::string& why) {
  try {
    auto reply = traces::reply_from_line(line, point.program);
    const auto id_of = [](const auto& either) { return either.id; };
    if (std::visit(id_of, reply) == point.id) return reply;
    why = "paceline-sim answered for another point";
  } catch (const std::runtime_error& error) {
    why = std::string("paceline-sim answered nonsense: ") + error.what();
  }
  return std::nullopt;
}

// Hands out numbers until there are none left, or one was trouble.
class Turns {
 public:
  explicit Turns(std::size_t count) : count_(count) {}

  void work(const std::function<void(std::size_t)>& one) {
    try {
      while (const auto index = next()) one(*index);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!trouble_) trouble_ = std::current_exception();
      next_ = count_;
    }
  }

  void rethrow() const {
    if (trouble_) std::rethrow_exception(trouble_);
  }

 private:
  std::optional<std::size_t> next() {
    const std::lock_guard lock(mutex_);
    return next_ < count_ ? std::optional(next_++) : std::nullopt;
  }

  std::size_t count_, next_ = 0;
  std::mutex mutex_;
  std::exception_ptr trouble_;
};

// The paceline-sim process of a thread, one of so many that share the machine's memory.
struct FlowProcess {
  std::size_t among = 1;
  std::optional<LineProcess> process;
  std::uint64_t asked = 0;  // so that no answer is taken for another's
};
thread_local FlowProcess flow_process;

LineProcess& running_process(bool force) {
  auto& [among, process, asked] = flow_process;
  if (!process) {
    process.emplace(ExecutorCommand{.name = "paceline-sim",
                                    .arguments = {executor_path("paceline-sim")},
                                    .keeps_quiet = false,
                                    .memory_max = memory_of_each(among, force)});
  }
  return *process;
}

// Precondition: no call is automatic.
traces::Reply followed(ResolvedPoint point) {
  const BrokenPipesIgnored ignored;
  const std::optional<Seconds> limit = time_limit(point);
  LineProcess& process = running_process(point.force);
  point.id = flow_process.asked++;
  LineProcess::Answer answer;
  try {
    answer = process.ask(traces::to_line(point), limit);
  } catch (const Stopped&) {
    process.kill();
    throw;
  }
  std::string why;
  if (answer.line) {
    if (auto reply = parsed(*answer.line, point, why)) return std::move(*reply);
  }
  // One without an answer is of no use any more.
  if (answer.line || answer.too_late) process.kill();
  flow_process.process.reset();
  if (answer.too_late) {
    why = fmt::format(
        "paceline-sim was killed: no answer within {:.3g} s; PACELINE_SIM_TIMEOUT "
        "sets the seconds it has",
        limit->value());
  } else if (!answer.line) {
    if (StopRequest::is_made_or_comes()) throw Stopped();
    why = "paceline-sim died";
  }
  return traces::Failure{point.id, why};
}

}  // namespace

traces::Reply simulate(const ResolvedPoint& point) {
  try {
    std::vector<std::string> notes;
    if (point.fidelity != Fidelity::flow) {
      try {
        return sim::predict_folded(point);
      } catch (const sim::NeedsFlow& reason) {
        notes.push_back(std::string("folded: fell back to flow: ") + reason.what());
      }
    }
    ResolvedPoint chosen = point;
    chosen.fidelity = Fidelity::flow;
    const auto choices = sim::choose_algorithms(chosen).sentences();
    notes.insert(notes.begin(), choices.begin(), choices.end());
    traces::Reply reply = followed(std::move(chosen));
    if (auto* result = std::get_if<Result>(&reply)) result->notes = std::move(notes);
    return reply;
  } catch (const sim::NotSimulated& reason) {
    return traces::Failure{point.id, reason.what(), reason.is_too_much};
  }
}

Executor simulation(bool force, bool each_rank) {
  return [force, each_rank](ResolvedPoint point) {
    point.force = force;
    point.each_rank = each_rank;
    return simulate(point);
  };
}

void share_memory_among(std::size_t processes) { flow_process.among = processes; }

void for_each(std::size_t count, std::size_t jobs, const std::function<void(std::size_t)>& work) {
  Turns turns(count);
  std::vector<std::thread> workers;
  try {
    for (std::size_t i = 0; i < std::min(std::max<std::size_t>(jobs, 1), count); ++i) {
      workers.emplace_back([&] {
        share_memory_among(jobs);
        turns.work(work);
      });
    }
  } catch (const std::exception&) {
    // The machine has no room for more threads, or their memory: those there are do it.
    if (workers.empty()) throw;
  }
  for (std::thread& worker : workers) worker.join();
  turns.rethrow();
}

}  // namespace paceline
