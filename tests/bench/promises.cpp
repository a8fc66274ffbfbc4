// Whether plans of `capacity` are kept: promises SCENARIO... of measured rows.
//
// Each source is left out: priors are learnt from all others. A candidate is a measured row of a
// scenario on several GPUs, at 1 a GPU-hour; those that differ in their numbers of GPUs alone are a
// group. A job is as much as one of a group's rows does in an hour, with a deadline of some times
// that hour: as the row measured, or as it is likely to by prediction, which no planned row's
// measurement has a part in. capacity::Search plans it with the steps that are predicted; what its
// row measured keeps the promise or does not.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iostream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "scenarios/capacity/search.h"
#include "scenarios/judge/left_out.h"
#include "scenarios/predict/evidence.h"
#include "scenarios/predict/run_scenario.h"

namespace {

using namespace paceline;

constexpr std::array probabilities{0.5, 0.8, 0.9, 0.95, 0.99};
constexpr double stated_probability = 0.9;
// Deadlines, over what a row of the group measured.
constexpr std::array deadlines{0.5, 0.7, 0.9, 1.0, 1.1, 1.3, 1.6, 2.0};
constexpr double hour = 3600;
// Of the plans' own probabilities, in which they are counted apart.
constexpr std::array promised_from{0.5, 0.8, 0.9, 0.95, 0.99};

// What a job's amount is an hour of.
enum class HourOf { measured, predicted };

// A measured row.
struct Candidate {
  std::string source, group;
  std::uint32_t gpus = 1;
  double samples_per_step = 1;
  Seconds measured;  // a step
  // Its source left out.
  std::optional<capacity::Speed> speed = std::nullopt;
  uncertain::LinkClass links = uncertain::LinkClass::nvlink;

  [[nodiscard]] Seconds time_of(double samples) const {
    return measured * (samples / samples_per_step);
  }
};
using SourceGroup = std::vector<Candidate>;

// What became of a job.
struct Kept {
  bool is_planned = false, is_kept = false;
  bool is_possible = false;  // a row met the deadline
  double promised = 0;       // probability
  double cost = 1;           // over that of the cheapest row that met it, of plans that are kept
  uncertain::LinkClass links = uncertain::LinkClass::nvlink;
  double deadline = 1;  // of `deadlines`
};
// By probability asked for; then by source.
using Jobs = std::map<std::string, std::vector<Kept>>;

// The group of a point: its axes but for those that say how many GPUs there are.
std::string group_of(const ScenarioFile& file, const PointOutcome& outcome) {
  std::string group = file.path();
  for (const AxisValue& axis : outcome.axes) {
    if (axis.path == "gpus" || axis.path == "cluster.nodes") continue;
    group += fmt::format(" {}={}", axis.path, axis.text);
  }
  return group;
}

struct Read {
  std::vector<ValidationRow> rows;  // as many as candidates, in their order
  std::vector<Candidate> candidates;
};

Read read_all(const std::vector<std::string>& paths) {
  RunOptions options;
  options.belief = std::make_shared<const uncertain::Belief>(unconditioned_belief());
  Read all;
  for (const std::string& path : paths) {
    const auto file = ScenarioFile::read(path, {{"simulation.fidelity", "folded"}});
    for (const PointOutcome& outcome : run_scenario(file, options)) {
      for (ValidationRow& row : validation_rows(file, {outcome})) {
        all.candidates.push_back({row.source, group_of(file, outcome), outcome.gpus,
                                  outcome.samples_per_step, row.measured_step});
        all.rows.push_back(std::move(row));
      }
    }
  }
  return all;
}

void predict_left_out(Read& all) {
  const std::array sources{by_source(all.rows)};
  std::map<std::string, uncertain::Priors> priors;
  for (const LeftOutSource& left : leave_out_sources(sources).sources) {
    priors.emplace(left.source, left.priors);
  }
  for (std::size_t i = 0; i < all.rows.size(); ++i) {
    Candidate& candidate = all.candidates[i];
    const JudgedRow row = judge_rows({all.rows[i]}, priors.at(candidate.source), 0).front();
    candidate.links = row.links;
    candidate.speed = capacity::Speed{candidate.measured * std::exp(-row.measured), row.low,
                                      row.high, uncertain::freedom, candidate.samples_per_step};
  }
}

std::vector<SourceGroup> groups_of(const std::vector<Candidate>& candidates) {
  std::map<std::string, SourceGroup> groups;
  for (const Candidate& one : candidates) groups[one.group].push_back(one);
  std::vector<SourceGroup> made;
  for (auto& [name, group] : groups) {
    std::set<std::uint32_t> numbers;
    for (const Candidate& one : group) numbers.insert(one.gpus);
    if (numbers.size() > 1) made.push_back(std::move(group));
  }
  return made;
}

// A machine of one's own for each row, so that rows of as many GPUs are told apart.
PlannedJob job_of(const SourceGroup& group, double samples, Seconds deadline, double probability) {
  PlannedJob job;
  job.samples = samples;
  job.targets.deadline = deadline;
  job.probability = probability;
  job.strategies = {{"ddp", ""}};
  job.pricings = {Pricing::on_demand};
  job.overheads = {.start = Seconds(0), .checkpoint = {}, .mtbf_per_node = Seconds(1e15)};
  for (const Candidate& one : group) {
    Machine machine;
    machine.hardware = job.machines.size();
    machine.gpus_per_node = one.gpus;
    machine.price = MoneyPerSecond(one.gpus / hour);
    job.machines.push_back(machine);
  }
  return job;
}

// No bound excludes a row: all are predicted already.
capacity::Grid grid_of(const SourceGroup& group) {
  constexpr Seconds next_to_nothing(1e-9);
  capacity::Grid grid;
  for (std::size_t i = 0; i < group.size(); ++i) {
    grid.candidates.push_back({capacity::Setup{i, 1, 0, 1, 1}, {next_to_nothing, next_to_nothing}});
  }
  return grid;
}

double gpu_seconds(const Candidate& row, double samples) {
  return row.gpus * row.time_of(samples).value();
}

Kept planned(const SourceGroup& group, double samples, double times, double probability) {
  // The last bits of a deadline that is what a row measured.
  constexpr double rounding = 1 + 1e-9;
  const Seconds deadline(hour * times);
  const PlannedJob job = job_of(group, samples, deadline, probability);
  capacity::Grid grid = grid_of(group);
  capacity::Search search(
      job, grid, [](const capacity::Setup&) { return capacity::StepBound{}; },
      [&](std::span<const capacity::Setup> setups) {
        std::vector<std::optional<capacity::Speed>> speeds;
        for (const capacity::Setup& setup : setups) speeds.push_back(group[setup.machine].speed);
        return speeds;
      });
  Kept kept;
  kept.deadline = times;
  double least = 0;
  for (const Candidate& row : group) {
    if (row.time_of(samples) > deadline * rounding) continue;
    const double cost = gpu_seconds(row, samples);
    least = kept.is_possible ? std::min(least, cost) : cost;
    kept.is_possible = true;
  }
  const auto plan = search.best({capacity::Aim::cheapest, job.targets, {}});
  if (!plan) return kept;
  const Candidate& row = group[search.setup(*plan).machine];
  kept.is_planned = true;
  kept.is_kept = row.time_of(samples) <= deadline * rounding;
  kept.promised = search.promise(*plan, job.targets)->probability;
  kept.links = row.links;
  if (kept.is_kept) kept.cost = gpu_seconds(row, samples) / least;
  return kept;
}

Jobs jobs_of(const std::vector<SourceGroup>& groups, double probability, HourOf of) {
  Jobs jobs;
  for (const SourceGroup& group : groups) {
    for (const Candidate& row : group) {
      const Seconds step = of == HourOf::measured ? row.measured : row.speed->step;
      const double samples = row.samples_per_step * (Seconds(hour) / step);
      for (const double times : deadlines) {
        jobs[row.source].push_back(planned(group, samples, times, probability));
      }
    }
  }
  return jobs;
}

// Of jobs: sums, for shares.
struct Counts {
  double jobs = 0, possible = 0, planned = 0, kept = 0, promised = 0, cost = 0;
  double missed = 0;  // no plan, but a row met it

  void add(const Kept& one) {
    ++jobs;
    possible += one.is_possible ? 1 : 0;
    missed += one.is_possible && !one.is_planned ? 1 : 0;
    if (!one.is_planned) return;
    ++planned;
    promised += one.promised;
    if (!one.is_kept) return;
    ++kept;
    cost += one.cost;
  }
  [[nodiscard]] double kept_share() const { return kept / planned; }
};

Counts counted(const std::vector<Kept>& jobs) {
  Counts counts;
  for (const Kept& one : jobs) counts.add(one);
  return counts;
}

// The mean over sources that have such plans, one vote each.
struct Votes {
  double sources = 0, sum = 0;
  void add(double share) {
    if (!std::isfinite(share)) return;  // of no job
    ++sources;
    sum += share;
  }
  [[nodiscard]] double mean() const { return sum / sources; }
};

std::string row_text(const std::string& name, const Counts& of) {
  const auto share = [](double part, double whole) {
    return whole > 0 ? fmt::format("{:.0f} %", 100 * part / whole) : std::string("-");
  };
  return fmt::format("| {} | {} | {} | {} | {} | {} | {} |", name, of.jobs, of.planned,
                     share(of.promised, of.planned), share(of.kept, of.planned),
                     share(of.missed, of.possible),
                     of.kept > 0 ? fmt::format("{:.2f}", of.cost / of.kept) : "-");
}

constexpr const char* head =
    "| jobs | plans | promised | kept | no plan, though a row met it | cost over the cheapest "
    "that met it |\n|---|---|---|---|---|---|---|\n";

// All jobs; shares are means of sources.
void write_means(const std::string& name, const Jobs& jobs) {
  Votes promised, kept, missed, cost;
  Counts all;
  for (const auto& [source, of] : jobs) {
    const Counts counts = counted(of);
    promised.add(counts.promised / counts.planned);
    kept.add(counts.kept_share());
    missed.add(counts.missed / counts.possible);
    cost.add(counts.cost / counts.kept);
    for (const Kept& one : of) all.add(one);
  }
  fmt::print("| {} | {} | {} | {:.1f} % | {:.1f} % | {:.0f} % | {:.2f} |\n", name, all.jobs,
             all.planned, 100 * promised.mean(), 100 * kept.mean(), 100 * missed.mean(),
             cost.mean());
}

void write_by_source(const Jobs& jobs) {
  fmt::print("\n| source {}", head);
  Counts all;
  for (const auto& [source, of] : jobs) {
    fmt::print("{}\n", row_text(source, counted(of)));
    for (const Kept& one : of) all.add(one);
  }
  write_means(fmt::format("mean of {} sources", jobs.size()), jobs);
  fmt::print("{}\n", row_text("all jobs alike", all));
}

// Of some jobs: by source, each one vote.
template <class Choose>
void write_part(const std::string& name, const Jobs& jobs, Choose choose) {
  Votes kept;
  Counts all;
  for (const auto& [source, of] : jobs) {
    Counts counts;
    for (const Kept& one : of) {
      if (!choose(one)) continue;
      counts.add(one);
      all.add(one);
    }
    kept.add(counts.kept_share());
  }
  if (all.planned == 0) return;
  fmt::print("| {} | {} | {} | {:.0f} % | {:.0f} % | {:.0f} % |\n", name, kept.sources, all.planned,
             100 * all.promised / all.planned, 100 * all.kept_share(), 100 * kept.mean());
}

constexpr const char* part_head =
    "| sources | plans | promised | kept | kept, mean of sources |\n|---|---|---|---|---|---|\n";

void write_by_links(const Jobs& jobs) {
  fmt::print("\n| links of the plan {}", part_head);
  for (std::size_t i = 0; i < uncertain::link_classes; ++i) {
    const auto links = static_cast<uncertain::LinkClass>(i);
    write_part(std::string(uncertain::to_text(links)), jobs,
               [&](const Kept& one) { return one.is_planned && one.links == links; });
  }
}

void write_by_deadline(const Jobs& jobs) {
  fmt::print("\n| deadline, times that hour {}", part_head);
  for (const double times : deadlines) {
    write_part(fmt::format("{:.1f}", times), jobs,
               [&](const Kept& one) { return one.deadline == times; });
  }
}

void write_by_promised(const Jobs& jobs) {
  fmt::print("\n| promised {}", part_head);
  for (std::size_t i = 0; i < promised_from.size(); ++i) {
    const double low = promised_from[i];
    const double high = i + 1 < promised_from.size() ? promised_from[i + 1] : 2;
    const std::string name = high > 1 ? fmt::format("{:.0f} % and more", 100 * low)
                                      : fmt::format("{:.0f} to {:.0f} %", 100 * low, 100 * high);
    write_part(name, jobs, [&](const Kept& one) {
      return one.is_planned && one.promised >= low && one.promised < high;
    });
  }
}

void write_calibration(const std::vector<SourceGroup>& groups, HourOf hour_of) {
  fmt::print("\n| asked for {}", head);
  for (const double probability : probabilities) {
    write_means(fmt::format("{:.0f} %", 100 * probability), jobs_of(groups, probability, hour_of));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: promises SCENARIO...\n";
    return 2;
  }
  try {
    Read all = read_all({argv + 1, argv + argc});
    predict_left_out(all);
    const std::vector<SourceGroup> groups = groups_of(all.candidates);
    std::size_t rows = 0;
    for (const SourceGroup& group : groups) rows += group.size();
    fmt::print("{} measured rows, {} of them in {} groups of several numbers of GPUs\n",
               all.rows.size(), rows, groups.size());
    for (const HourOf hour_of : {HourOf::measured, HourOf::predicted}) {
      fmt::print("\n## Deadlines of what a row {}\n",
                 hour_of == HourOf::measured ? "took" : "is likely to take");
      const Jobs jobs = jobs_of(groups, stated_probability, hour_of);
      write_by_source(jobs);
      write_by_links(jobs);
      write_by_deadline(jobs);
      write_calibration(groups, hour_of);
      fmt::print("\nWhere 50 % is asked for, by what plans promise:\n");
      write_by_promised(jobs_of(groups, probabilities.front(), hour_of));
    }
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
}
