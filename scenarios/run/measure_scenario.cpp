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

#include "models/cost/auto_choice.h"
#include "models/cost/closed_step.h"
#include "models/stats/errors.h"
#include "scenarios/run/calibrated_cluster.h"
#include "scenarios/run/line_process.h"
#include "scenarios/run/resolve.h"
#include "traces/json/protocol.h"

namespace paceline {
namespace {

// What points have in common that the same processes measure.
struct Group {
  std::string backend;
  std::uint32_t ranks;
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

Group group_of(const Scenario& scenario, std::uint32_t gpus) {
  return {scenario.real.backend, gpus, scenario.real.timeout};
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
Group first_group(const ScenarioFile& file, std::uint32_t ranks) {
  for (std::size_t i = 0; i < file.points().size(); ++i) {
    const Scenario scenario = file.scenario(i);
    const RankCount gpus = job_cluster(resolve(scenario, i).point).ranks();
    if (gpus == RankCount(ranks)) return group_of(scenario, ranks);
  }
  throw InputError(
      {file.path(), 0, 0},
      fmt::format("no point has {} GPUs, as many as the launcher started ranks", ranks),
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

class Measurer {
 public:
  Measurer(const ScenarioFile& file, const MeasureOptions& options,
           std::vector<PointOutcome>& outcomes)
      : file_(file), options_(options), outcomes_(outcomes) {}

  void measure() {
    if (options_.launched != nullptr) return measure(*options_.launched);
    std::map<Group, std::vector<std::size_t>> groups;
    for (std::size_t i = 0; i < outcomes_.size(); ++i) {
      groups[group_of(file_.scenario(i), outcomes_[i].gpus)].push_back(i);
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
      const Group group = group_of(file_.scenario(i), outcomes_[i].gpus);
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
    auto answer = worker.ask(traces::to_line(point_of(index)), std::nullopt);
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
      if (status == status_usage) throw InputError({file_.path(), 0, 0}, why, "");
      outcome.steps_measured = std::move(steps);
      outcome.measure_failure = why.empty() || worker.was_stopped() ? end_of(worker, status) : why;
      return false;
    }
    take(traces::reply_from_line(*answer.line), outcome);
    return true;
  }

  ResolvedPoint point_of(std::size_t index) const {
    const Scenario scenario = file_.scenario(index);
    PreparedPoint prepared = resolve(scenario, index);
    prepared.point.measure = scenario.real.measure;
    // As predicted: run_scenario names the same ones.
    if (!scenario.calibration.empty()) {
      take_links(read_calibration(scenario.calibration), scenario, prepared.point.cluster,
                 prepared.assumptions);
    }
    name_automatic_algorithms(prepared);
    return std::move(prepared.point);
  }

  void take(traces::Reply reply, PointOutcome& outcome) const {
    if (auto* failure = std::get_if<traces::Failure>(&reply)) {
      outcome.measure_failure = std::move(failure->what);
      return;
    }
    auto& result = std::get<Result>(reply);
    outcome.steps_measured = result.measurement->steps;
    outcome.measured = MeasuredPoint{
        {}, SamplesPerSecond(outcome.samples_per_step / result.totals.step.value()), false};
    for (const auto& note : result.notes) outcome.assumptions.push_back(note);
    outcome.calls_measured = calls_of(result.trace);
    outcome.compute_spread_measured = compute_spread(result.trace);
    if (!options_.keep_traces) result.trace = {};
    outcome.measurement = std::move(result);
  }

  const ScenarioFile& file_;
  const MeasureOptions& options_;
  std::vector<PointOutcome>& outcomes_;
  std::size_t done_ = 0;
};

}  // namespace

LaunchedRanksPtr join_launched_ranks(const ScenarioFile& file) {
  const Identity identity = ask_who_this_is();
  if (identity.world_size == 1) return nullptr;
  const Group group = first_group(file, identity.world_size);
  if (identity.rank > 0) become(rank_command(group));
  return LaunchedRanksPtr(new LaunchedRanks(group));
}

void measure_scenario(const ScenarioFile& file, const MeasureOptions& options,
                      std::vector<PointOutcome>& outcomes) {
  // Ranks that die must not take this process along when they are written to.
  const auto on_broken_pipe = std::signal(SIGPIPE, SIG_IGN);
  try {
    Measurer(file, options, outcomes).measure();
  } catch (...) {
    std::signal(SIGPIPE, on_broken_pipe);
    throw;
  }
  std::signal(SIGPIPE, on_broken_pipe);
  find_measured_one_gpu(outcomes);
}

}  // namespace paceline
