#include "scenarios/run/measure_scenario.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <map>
#include <sstream>
#include <utility>

#include "scenarios/errors.h"
#include "scenarios/run/line_process.h"
#include "traces/json/protocol.h"

namespace paceline {
namespace {

// What points have in common that the same processes measure.
struct Group {
  std::string backend;
  std::uint32_t ranks;  // those of servers included
  Seconds timeout;

  friend auto operator<=>(const Group&, const Group&) = default;
};

constexpr int status_usage = 2;  // of a worker that was asked for what cannot be

// One rank, which one the environment says.
std::vector<std::string> rank_command(const Group& group) {
  return {executor_path("paceline-worker"), "--backend", group.backend, "--timeout",
          fmt::format("{}s", group.timeout.value())};
}

ExecutorCommand local_command(const Group& group) {
  auto arguments = rank_command(group);
  arguments.insert(arguments.end(), {"--ranks", std::to_string(group.ranks)});
  return {"paceline-worker", std::move(arguments), true, group.timeout};
}

Group group_of(const PreparedPoint& prepared) {
  const std::uint32_t ranks = job_cluster(prepared.point).ranks().value();
  return {prepared.real.backend, ranks + prepared.point.cluster.servers, prepared.real.timeout};
}

// Of a worker that said nothing itself.
std::string end_of(const LineProcess& worker, int status) {
  if (worker.was_stopped()) return "paceline-worker, with all its ranks, was stopped";
  constexpr int first_signal = 128;
  if (status <= first_signal) return fmt::format("paceline-worker ended with status {}", status);
  return fmt::format("paceline-worker, with all its ranks, was ended by signal {} ({})",
                     status - first_signal, ::strsignal(status - first_signal));
}

// The line in which a worker says why it ends, else the last that anything said.
std::string complaint_of(const std::string& words) {
  constexpr std::string_view mark = "paceline-worker: ";
  const auto line_at = [&](std::size_t begin) {
    return words.substr(begin, words.find('\n', begin) - begin);
  };
  const auto marked = words.find(mark);
  if (marked != std::string::npos) return line_at(marked + mark.size());
  const auto end = words.find_last_not_of(" \n\t");
  if (end == std::string::npos) return "";
  const auto before = words.rfind('\n', end);
  return line_at(before == std::string::npos ? 0 : before + 1);
}

// Rank and world size, as a launcher told this process.
struct Identity {
  std::uint32_t rank = 0, world_size = 1;
};

Identity ask_who_this_is() {
  LineProcess worker({"paceline-worker", {executor_path("paceline-worker"), "--who"}, true});
  const auto answer = worker.listen(std::nullopt);
  const int status = worker.end();
  if (status != 0) {
    throw InputError({"the launcher's variables", 0, 0}, complaint_of(worker.last_words()), "");
  }
  Identity identity;
  if (answer.line) std::istringstream(*answer.line) >> identity.rank >> identity.world_size;
  return identity;
}

// The first point that so many ranks can measure says with what.
Group first_group(Preparer& points, std::uint32_t ranks) {
  for (std::size_t i = 0; i < points.file().points().size(); ++i) {
    const Group group = group_of(*points.measurement(i));
    if (group.ranks == ranks) return group;
  }
  throw InputError(
      {points.file().path(), 0, 0},
      fmt::format("no point has {} GPUs, as many as the launcher started ranks; servers count too",
                  ranks),
      fmt::format("add --set gpus={0}, or start another number", ranks));
}

[[noreturn]] void become(std::vector<std::string> command) {
  std::vector<char*> arguments;
  for (auto& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execv(arguments[0], arguments.data());
  throw BackendError("paceline-worker", std::string("cannot be started: ") + std::strerror(errno));
}

}  // namespace

class LaunchedRanks {
 public:
  explicit LaunchedRanks(const Group& its_group)
      : group(its_group), worker({"paceline-worker", rank_command(group), true, group.timeout}) {}

  Group group;
  LineProcess worker;
};

void LaunchedRanksEnd::operator()(LaunchedRanks* ranks) const { delete ranks; }

namespace {

// The library's own calls ran in place of the planned ones; what they took is known.
void name_native_calls(StepTrace& trace) {
  const auto calls = calls_of(trace);
  std::size_t next = 0;
  for (training::Operation& operation : trace.program.operations) {
    auto* call = call_of(operation);
    if (call == nullptr) continue;
    const Seconds time = calls[next++].together();
    if (call->known() == nullptr) call->how = training::KnownCall{time, "native"};
  }
}

class Measurer {
 public:
  Measurer(Preparer& points, const MeasureOptions& options, std::vector<PointOutcome>& outcomes)
      : points_(points), options_(options), outcomes_(outcomes) {}

  void measure() {
    if (options_.launched != nullptr) return measure(*options_.launched);
    std::map<Group, std::vector<std::size_t>> groups;
    for (std::size_t i = 0; i < outcomes_.size(); ++i) {
      groups[group_of(*points_.measurement(i))].push_back(i);
    }
    for (const auto& [group, points] : groups) {
      if (!measure(group, points)) break;
    }
  }

 private:
  // False when a rank was lost.
  bool measure(const Group& group, const std::vector<std::size_t>& points) {
    LineProcess worker(local_command(group));
    return measure(worker, points);
  }

  void measure(LaunchedRanks& launched) {
    std::vector<std::size_t> points;
    for (std::size_t i = 0; i < outcomes_.size(); ++i) {
      const Group group = group_of(*points_.measurement(i));
      if (group == launched.group) {
        points.push_back(i);
        continue;
      }
      outcomes_[i].assumptions.push_back(
          group.ranks == launched.group.ranks
              ? fmt::format("not measured: the launcher's ranks measure with {} and one timeout",
                            launched.group.backend)
              : fmt::format("not measured: the launcher started {} ranks", launched.group.ranks));
    }
    (void)measure(launched.worker, points);
  }

  bool measure(LineProcess& worker, const std::vector<std::size_t>& points) {
    for (const std::size_t point : points) {
      if (!measure(worker, point)) return false;
      ++done_;
      if (options_.progress) options_.progress(done_, outcomes_.size());
    }
    return true;
  }

  bool measure(LineProcess& worker, std::size_t index) {
    PointOutcome& outcome = outcomes_[index];
    const auto prepared = points_.measurement(index);
    const ResolvedPoint& point = prepared->point;
    auto answer = worker.ask(traces::to_line(point), std::nullopt);
    std::vector<Seconds> steps;
    while (answer.line) {
      if (!answer.line->starts_with('{')) {  // mpirun complains there, too
        answer = worker.listen(std::nullopt);
        continue;
      }
      const auto progress = traces::progress_from_line(*answer.line);
      if (!progress) break;
      steps.push_back(progress->duration);
      answer = worker.listen(std::nullopt);
    }
    if (!answer.line) {
      const int status = worker.end();
      const std::string why = complaint_of(worker.last_words());
      if (status == status_usage) throw InputError({points_.file().path(), 0, 0}, why, "");
      outcome.steps_measured = std::move(steps);
      outcome.measure_failure = why.empty() || worker.was_stopped() ? end_of(worker, status) : why;
      return false;
    }
    take(traces::reply_from_line(*answer.line, point.program), outcome);
    return true;
  }

  void take(traces::Reply reply, PointOutcome& outcome) const {
    if (auto* failure = std::get_if<traces::Failure>(&reply)) {
      outcome.measure_failure = std::move(failure->what);
      return;
    }
    auto& result = std::get<Result>(reply);
    if (result.measurement->mode == CollectiveMode::native) name_native_calls(result.trace);
    outcome.steps_measured = result.measurement->steps;
    outcome.measured = MeasuredPoint{
        {}, SamplesPerSecond(outcome.samples_per_step / result.totals.step.value()), false};
    for (const auto& note : result.notes) outcome.assumptions.push_back(note);
    outcome.calls_measured = calls_of(result.trace);
    outcome.compute_spread_measured = compute_spread(result.trace);
    if (!options_.keep_traces) result.trace = {};
    outcome.measurement = std::move(result);
  }

  Preparer& points_;
  const MeasureOptions& options_;
  std::vector<PointOutcome>& outcomes_;
  std::size_t done_ = 0;
};

}  // namespace

LaunchedRanksPtr join_launched_ranks(Preparer& points) {
  const Identity identity = ask_who_this_is();
  if (identity.world_size == 1) return nullptr;
  const Group group = first_group(points, identity.world_size);
  if (identity.rank > 0) become(rank_command(group));
  return LaunchedRanksPtr(new LaunchedRanks(group));
}

void measure_scenario(Preparer& points, const MeasureOptions& options,
                      std::vector<PointOutcome>& outcomes) {
  // Ranks that die must not take this process along when they are written to.
  const auto on_broken_pipe = std::signal(SIGPIPE, SIG_IGN);
  try {
    Measurer(points, options, outcomes).measure();
  } catch (...) {
    std::signal(SIGPIPE, on_broken_pipe);
    throw;
  }
  std::signal(SIGPIPE, on_broken_pipe);
  find_measured_one_gpu(outcomes);
}

}  // namespace paceline
