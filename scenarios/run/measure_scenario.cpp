#include "scenarios/run/measure_scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <utility>

#include "models/cost/auto_choice.h"
#include "models/cost/closed_step.h"
#include "models/stats/errors.h"
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

ExecutorCommand command_of(const Group& group) {
  return {"paceline-worker",
          {executor_path("paceline-worker"), "--ranks", std::to_string(group.ranks), "--backend",
           group.backend, "--timeout", fmt::format("{}s", group.timeout.value())},
          true};
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

class Measurer {
 public:
  Measurer(const ScenarioFile& file, const MeasureOptions& options,
           std::vector<PointOutcome>& outcomes)
      : file_(file), options_(options), outcomes_(outcomes) {}

  void measure() {
    std::map<Group, std::vector<std::size_t>> groups;
    for (std::size_t i = 0; i < outcomes_.size(); ++i) {
      const Scenario scenario = file_.scenario(i);
      groups[{scenario.real.backend, outcomes_[i].gpus, scenario.real.timeout}].push_back(i);
    }
    for (const auto& [group, points] : groups) {
      if (!measure(group, points)) break;
    }
  }

 private:
  // False when a rank was lost.
  bool measure(const Group& group, const std::vector<std::size_t>& points) {
    LineProcess worker(command_of(group));
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
      outcome.measure_failure =
          why.empty() ? fmt::format("paceline-worker ended with status {}", status) : why;
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
