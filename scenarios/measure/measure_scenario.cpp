#include "scenarios/measure/measure_scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "scenarios/errors.h"
#include "scenarios/loader/backend_kind.h"
#include "scenarios/process/memory.h"
#include "scenarios/process/stop_request.h"

namespace paceline {
namespace {

RankGroup group_of(const PreparedPoint& prepared) {
  const std::uint32_t ranks = job_cluster(prepared.point).ranks().value();
  return {prepared.real.backend, ranks + prepared.point.cluster.servers, prepared.real.timeout};
}

// The first point that so many ranks can measure says with what.
RankGroup first_group(Preparer& points, std::uint32_t ranks) {
  for (std::size_t i = 0; i < points.file().point_count(); ++i) {
    RankGroup group = group_of(*points.measurement(i));
    if (group.ranks == ranks) return group;
  }
  throw InputError(
      {points.file().path()},
      fmt::format("no point has {} GPUs, as many as the launcher started ranks; servers count too",
                  ranks),
      fmt::format("add --set gpus={0}, or start another number", ranks));
}

// The library's own calls ran in place of the planned ones; what they took is known.
void name_native_calls(StepTrace& trace) {
  const auto calls = calls_of(trace);
  std::size_t next = 0;
  for (training::CollectiveCall* call : calls_in(trace.program)) {
    const Seconds time = calls[next++].together();
    if (call->known() == nullptr) call->how = training::KnownCall{time, "native"};
  }
}

constexpr double gibibyte = 1U << 30U;

// What the buffers of all ranks take, about: each call has its own, and half as much again arrives
// beside it (two ranks of 8 GiB each took 23 GiB with backend memory).
double bytes_of_buffers(const ResolvedPoint& point, std::uint32_t ranks) {
  double bytes = 0;
  for (const training::CollectiveCall* call : calls_in(point.program)) {
    if (call->known() == nullptr) bytes += static_cast<double>(call->size().value());
  }
  constexpr double beside = 1.5;
  return bytes * beside * ranks;
}

class Measurer {
 public:
  Measurer(Preparer& points, const MeasureOptions& options, std::vector<PointOutcome>& outcomes)
      : points_(points), options_(options), outcomes_(outcomes) {}

  void measure() {
    const ProgressEnd end(options_.progress);
    if (options_.launched != nullptr) return measure(*options_.launched);
    std::map<RankGroup, std::vector<std::size_t>> groups;
    for (std::size_t i = 0; i < outcomes_.size(); ++i) {
      groups[group_of(*points_.measurement(i))].push_back(i);
    }
    for (const auto& [group, points] : groups) {
      if (const auto lost = measure(group, points)) {
        std::vector<std::size_t> all(outcomes_.size());
        std::iota(all.begin(), all.end(), std::size_t{0});
        return give_up(all, outcomes_[*lost]);
      }
    }
  }

 private:
  // The point that ended the run, as a rank was lost.
  std::optional<std::size_t> measure(const RankGroup& group,
                                     const std::vector<std::size_t>& points) {
    WorkerRanks ranks(group, WorkerRanks::Start::here);
    return measure(ranks, points);
  }

  void measure(WorkerRanks& launched) {
    std::vector<std::size_t> points;
    for (std::size_t i = 0; i < outcomes_.size(); ++i) {
      const RankGroup group = group_of(*points_.measurement(i));
      if (group == launched.group()) {
        points.push_back(i);
        continue;
      }
      outcomes_[i].assumptions.push_back(
          group.ranks == launched.group().ranks
              ? fmt::format("not measured: the launcher's ranks measure with {} and one timeout",
                            launched.group().backend)
              : fmt::format("not measured: the launcher started {} ranks", launched.group().ranks));
    }
    if (const auto lost = measure(launched, points)) give_up(points, outcomes_[*lost]);
  }

  // What was not begun when a point ended the run has that one's reason.
  void give_up(const std::vector<std::size_t>& points, const PointOutcome& last) {
    for (const std::size_t point : points) {
      PointOutcome& outcome = outcomes_[point];
      if (outcome.measurement || outcome.measure_failure) continue;
      outcome.measure_failure = last.measure_failure;
    }
  }

  std::optional<std::size_t> measure(WorkerRanks& ranks, const std::vector<std::size_t>& points) {
    for (const std::size_t point : points) {
      tell("measuring " + outcomes_[point].name(), "");
      if (!measured(ranks, point)) return point;
      ++done_;
      tell("", "");
    }
    return std::nullopt;
  }

  void tell(std::string doing, std::string at) const {
    if (!options_.progress) return;
    options_.progress(
        {done_, outcomes_.size(), "points measured", std::move(doing), std::move(at)});
  }

  // What cannot be measured at all ends the run, unless there is something that would be lost.
  bool measured(WorkerRanks& ranks, std::size_t point) {
    try {
      return measure(ranks, point);
    } catch (const InputError& error) {
      const bool has_results = std::ranges::any_of(
          outcomes_, [](const PointOutcome& one) { return one.predicted || one.measurement; });
      if (!has_results) throw;
      outcomes_[point].measure_failure = {FailureCause::refused, error.what()};
      return false;
    }
  }

  bool measure(WorkerRanks& ranks, std::size_t index) {
    PointOutcome& outcome = outcomes_[index];
    const auto prepared = points_.measurement(index);
    const std::uint32_t steps = prepared->point.measure->steps;
    const auto tell_steps = [&](std::size_t done) {
      tell("measuring " + outcome.name(), fmt::format("step {} of {}", done, steps));
    };
    Measured measured = ranks.measure(prepared->point, {points_.file().path()}, tell_steps);
    if (!measured.reply) {
      outcome.steps_measured = std::move(measured.steps);
      outcome.measure_failure = std::move(measured.lost);
      return false;
    }
    take(std::move(*measured.reply), outcome);
    return true;
  }

  void take(traces::Reply reply, PointOutcome& outcome) const {
    if (auto* failure = std::get_if<traces::Failure>(&reply)) {
      outcome.measure_failure = {FailureCause::failed, std::move(failure->what)};
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

WorkerRanksPtr join_launched_ranks(Preparer& points) {
  const ScenarioFile& file = points.file();
  Task task{{"scenario", "sha256:" + file.sha256()}};
  for (const ScenarioFile::Setting& one : file.settings()) task.emplace_back(one.path, one.value);
  return join_launcher([&](std::uint32_t ranks) { return first_group(points, ranks); }, task);
}

void expect_measurable_here(Preparer& points) {
  const Location where{points.file().path()};
  for (std::size_t i = 0; i < points.file().point_count(); ++i) {
    const std::uint32_t ranks = points.scenario(i)->cluster.ranks().value();
    refuse_more_than_start_here(ranks, where);
    const auto prepared = points.measurement(i);
    const RankGroup group = group_of(*prepared);
    const auto most = memory_to_take();
    const auto memory = loader::backend_kind(group.backend).memory;
    if (memory != loader::BufferMemory::host || !most) continue;
    const double needed = bytes_of_buffers(prepared->point, group.ranks) / gibibyte,
                 there = static_cast<double>(most->value()) / gibibyte;
    if (needed <= there) continue;
    throw InputError(where,
                     fmt::format("the buffers of {} ranks take {:.3g} GiB, and this machine has "
                                 "{:.3g} for them",
                                 group.ranks, needed, there),
                     "take fewer GPUs or a smaller model");
  }
}

void measure_scenario(Preparer& points, const MeasureOptions& options,
                      std::vector<PointOutcome>& outcomes) {
  if (StopRequest::signal() == 0) {
    Measurer(points, options, outcomes).measure();
  } else {
    for (PointOutcome& outcome : outcomes) {
      outcome.measure_failure = {FailureCause::stopped, Stopped().what()};
    }
  }
  find_measured_one_gpu(outcomes);
}

}  // namespace paceline
