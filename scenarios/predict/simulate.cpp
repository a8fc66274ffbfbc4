#include "scenarios/predict/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "models/cost/effort.h"
#include "models/text/number.h"
#include "scenarios/process/line_process.h"
#include "scenarios/process/memory.h"
#include "scenarios/process/stop_request.h"
#include "sim/folded/predicted_point.h"

namespace paceline {
namespace {

void refuse_too_much(const cost::Work& work, const ResolvedPoint& point, const Location& where) {
  if (!cost::is_too_much_for_flow(point, work)) return;
  throw InputError(where,
                   fmt::format("{} GPUs take {:.3g} simulated transfers, about {:.0f} minutes",
                               job_cluster(point).ranks().value(), work.transfers,
                               cost::flow_time(point, work).value() / 60),
                   "take fidelity: folded, or add --force");
}

// Half a minute for ResNet-50 by NCCL's trees on a core of a server of 2023, and it grows with
// them; more than any machine has that is known.
constexpr std::uint32_t gpus_unasked = 1U << 18;

std::optional<Seconds> limit_of_environment() {
  constexpr const char* variable = "PACELINE_SIM_TIMEOUT";
  const char* const given = std::getenv(variable);
  if (given == nullptr || *given == '\0') return std::nullopt;
  if (const auto seconds = number_of<double>(given); seconds && *seconds > 0) {
    return Seconds(*seconds);
  }
  throw InputError({variable}, fmt::format("\"{:.60}\" is not a time above zero", given),
                   "write a number of seconds, or unset it");
}

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

std::optional<Seconds> time_expected(const ResolvedPoint& point, bool force,
                                     const Location& where) {
  (void)limit_of_environment();
  if (point.fidelity != Fidelity::flow) return std::nullopt;
  const cost::Work work = cost::work_about(point);
  if (!force) refuse_too_much(work, point, where);
  return cost::flow_time(point, work);
}

std::optional<Seconds> time_limit(const ResolvedPoint& point) {
  if (const auto given = limit_of_environment()) return given;
  if (point.force) return std::nullopt;
  return cost::flow_time(point, cost::work_about(point)) * 10 + Seconds(60);
}

void refuse_too_many(RankCount gpus, bool force, const Location& where) {
  if (force || gpus.value() <= gpus_unasked) return;
  throw InputError(where,
                   fmt::format("{} GPUs are more than the {} that are predicted unasked",
                               gpus.value(), gpus_unasked),
                   "take fewer, or add --force: a million take more than ten minutes");
}

InputError refusal(const std::string& what, const Location& where) {
  return {where, what, "add --force"};
}

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
