#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>
#include <optional>
#include <ranges>
#include <set>
#include <utility>

#include "models/stats/normal.h"
#include "models/text/number.h"
#include "models/units/parse.h"
#include "scenarios/calibration/calibration.h"
#include "scenarios/calibration/learnt_steps.h"
#include "scenarios/cli/command.h"
#include "scenarios/cli/common_options.h"
#include "scenarios/cli/option_values.h"
#include "scenarios/cli/run_options.h"
#include "scenarios/errors.h"
#include "scenarios/files/input_file.h"
#include "scenarios/import/import.h"
#include "scenarios/predict/evidence.h"
#include "scenarios/text_table.h"

namespace paceline::cli {
namespace calibrate_command {

using P = cost::StructureParameters;

struct Options {
  std::vector<std::string> inputs;  // logs, and scenarios with points that are known
  std::string between, cluster;
  bool all_rows = false;
  files::OutputFile output;
  LogCommandOptions log;
  SharedOptions shared;

  [[nodiscard]] std::vector<std::string> those(bool are_scenarios) const {
    std::vector<std::string> some;
    for (const std::string& path : inputs) {
      if (is_scenario(path) == are_scenarios) some.push_back(path);
    }
    return some;
  }

  [[nodiscard]] LogOptions parsed() const {
    using cost::LinkPlace;
    const Words<LinkPlace> known{{"nodes", LinkPlace::network}, {"gpus", LinkPlace::intra_node}};
    LogOptions all = log.parsed();
    if (!between.empty()) all.between = word("--between", between, known);
    return all;
  }
  // As `paceline collective` names clusters. Logs that tell NCCL's version say whether it uses
  // lanes over neighbours.
  [[nodiscard]] std::optional<CalibratedMachine> machine(
      const std::vector<LogTable>& tables) const {
    if (cluster.empty()) return std::nullopt;
    ScenarioValues values = small_values();
    values.set_given({{"cluster.preset", cluster}, {"cluster.gpus", "any"}});
    for (const LogTable& table : tables) {
      if (!cost::nccl::Release::minor_of(table.release)) continue;
      values.set_given({{"collective.version", table.release}});
      break;
    }
    return CalibratedMachine{cluster, cost::ring_parts_of(scenario_of_options(values, {}).cluster)};
  }
};

void write_sources(const Calibration& calibration) {
  if (calibration.sources.empty()) return;
  TextTable table({"log", "collective", "nodes", "ranks a node", "rows", "used", "skipped"}, 2);
  for (const auto& source : calibration.sources) {
    table.add({source.file, std::string(to_text(source.shape.collective)),
               std::to_string(source.shape.nodes), std::to_string(source.shape.ranks_per_node),
               std::to_string(source.rows), std::to_string(source.used),
               std::to_string(source.skipped.size())});
  }
  table.write(std::cout);
  for (const auto& source : calibration.sources) {
    write_skipped(std::cout, source.file, source.skipped);
  }
}

void write_machine_parts(const CalibratedMachine& machine) {
  std::string parts;
  for (const cost::RingPart& part : machine.rings.by_ranks()) {
    parts += fmt::format("{}{:.3g} and {:.3g}", parts.empty() ? "" : ", ", part.local, part.remote);
  }
  fmt::print(
      std::cout,
      "{}: rings of 1, 2, ... ranks a node carry, in a node and between nodes, of what all do: "
      "{}\n",
      machine.cluster, parts);
}

// A bandwidth with its 90 % interval; a dash where no link of the kind was measured.
std::string bandwidth(const cost::CollectiveFit& fit, std::size_t parameter, double unit) {
  const double deviation = std::sqrt(fit.covariance()[parameter][parameter]);
  constexpr double unknown = 1;  // wider than a factor of e: it is the prior's
  if (deviation > unknown) return "-";
  const double value = unit * std::exp(fit.hypotheses().front().parameters[parameter]);
  const double factor = std::exp(stats::normal_90 * deviation);
  return fmt::format("{:.3g} GB/s ({:.3g} to {:.3g})", value / 1e9, value / factor / 1e9,
                     value * factor / 1e9);
}

void write_fit(collectives::Collective collective, const cost::CollectiveFit& fit,
               const Calibration& calibration, const std::vector<LogTable>& tables) {
  auto logs = validate_logs(calibration, tables);
  std::erase_if(logs, [&](const auto& log) { return log.shape.collective != collective; });
  const LogSummary summary = summarise(logs);
  fmt::print(std::cout,
             "\n{}: fitted to {}; {} kept, which fit well enough and make the interval\n",
             to_text(collective), counted(fit.samples().size(), "sample"),
             counted(fit.hypotheses().size(), "parameter set"));
  fmt::print(std::cout,
             "  what was fitted is met within {:.1f}% (geometric mean; largest {:.0f}%)\n",
             summary.predicted.geometric_mean, summary.predicted.largest);
  fmt::print(std::cout, "  of the busiest link: in a node {}, between nodes {}\n",
             bandwidth(fit, P::local_bandwidth, cost::local_unit),
             bandwidth(fit, P::remote_bandwidth, cost::remote_unit));
  const auto nodes_of = [](const auto& sample) { return sample.shape.nodes; };
  if (collective == collectives::Collective::all_reduce &&
      std::ranges::max(fit.samples() | std::views::transform(nodes_of)) == 2) {
    fmt::print(
        std::cout,
        "  counted as a ring's, of which a tree sends half on two nodes: a log of more nodes "
        "shows what NICs carry\n");
  }
  std::size_t standing_out = 0;     // samples
  constexpr double too_much = 1.5;  // times the noise that its own repetitions explain
  for (std::size_t i = 0; i < fit.samples().size(); ++i) {
    const auto& sample = fit.samples()[i];
    if (fit.noise()[i] <= too_much * std::hypot(fit.scale().own, sample.spread)) continue;
    ++standing_out;
    fmt::print(std::cout, "  stands out, counts less: {} on {} of {} GPUs: {}\n",
               to_text(sample.size), counted(sample.shape.nodes, "node"),
               sample.shape.ranks_per_node, to_text(sample.time));
  }
  if (standing_out > 0) {
    fmt::print(std::cout, "  {} stand{} out\n", counted(standing_out, "sample"),
               standing_out == 1 ? "s" : "");
  }
}

// What is being fitted, and how often something was before.
struct FitProgress {
  TellProgress told;
  std::size_t done = 0;

  void tell(const std::string& to_what) {
    if (told) told({.done = done, .of = "fits", .doing = "fitting " + to_what});
    ++done;
  }
};

// How a fit to the smaller groups (two or more) would have predicted the largest, as people want to
// know of one that is larger still. Says nothing where a fit cannot tell.
void write_largest_left_out(collectives::Collective collective, const std::vector<LogTable>& tables,
                            const std::optional<CalibratedMachine>& machine,
                            FitProgress& progress) {
  std::set<std::uint32_t> groups;
  for (const LogTable& table : tables) {
    if (table.shape.collective == collective) groups.insert(table.shape.ranks());
  }
  constexpr std::size_t groups_least = 3;
  if (groups.size() < groups_least) return;
  const std::uint32_t largest = *groups.rbegin();
  std::vector<LogTable> rest, left_out;
  for (const LogTable& table : tables) {
    if (table.shape.collective != collective) continue;
    (table.shape.ranks() == largest ? left_out : rest).push_back(table);
  }
  try {
    const LogSummary found = [&] {
      const ProgressEnd end(progress.told);
      progress.tell(fmt::format("{} without {} GPUs", to_text(collective), largest));
      return summarise(validate_logs(calibrate(rest, machine), left_out));
    }();
    fmt::print(std::cout,
               "  fitted without the {} GPUs, it predicts them within {:.1f}% (largest {:.0f}%), "
               "{:.0f}% of sizes inside their 90 % intervals\n",
               largest, found.predicted.geometric_mean, found.predicted.largest,
               found.coverage_percent);
    constexpr double too_few = 75;  // percent; of 16 sizes, 90 % would be 14
    if (found.coverage_percent < too_few) {
      fmt::print(std::cout,
                 "  so beyond {} GPUs take its intervals for too narrow: larger groups differ from "
                 "smaller ones by more than these logs explain\n",
                 largest);
    }
  } catch (const InputError&) {  // it knows nothing of that group
  }
}

// Geometric mean and maximum of how far times are from those measured.
template <class TimeOf>
std::string met_within(const cost::LinkFit& fit, const TimeOf& time_of) {
  double sum = 0, most = 0;
  for (const cost::LinkSample& sample : fit.samples) {
    const double off = std::abs(std::log(sample.time / time_of(sample.size)));
    sum += off;
    most = std::max(most, off);
  }
  return fmt::format("{:.1f}% (largest {:.0f}%)",
                     100 * std::expm1(sum / static_cast<double>(fit.samples.size())),
                     100 * std::expm1(most));
}

void write_link(cost::LinkPlace place, const CalibratedLink& link) {
  const cost::LinkFit& fit = link.fit;
  const auto latency = fit.estimate.latency_range();
  const auto bandwidth = fit.estimate.bandwidth_range();
  fmt::print(std::cout, "{}: {} of {}\n", to_text(place), counted(fit.samples.size(), "size"),
             link.files());
  for (const auto& source : link.sources) write_skipped(std::cout, source.file, source.skipped);
  fmt::print(std::cout, "  latency {} ({} to {}), bandwidth {} ({} to {}), 90 % intervals\n",
             to_text(fit.estimate.latency), to_text(latency.first), to_text(latency.second),
             to_text(fit.estimate.bandwidth), to_text(bandwidth.first), to_text(bandwidth.second));
  fmt::print(std::cout, "  these two alone, as simulated, meet what was measured within {}\n",
             met_within(fit, [&](Bytes size) { return fit.estimate.time(size); }));
  if (fit.pieces.size() == 1) return;
  std::string switches;
  for (std::size_t i = 0; i + 1 < fit.pieces.size(); ++i) {
    switches += (i == 0 ? "" : " and ") + to_text(fit.pieces[i].up_to);
  }
  fmt::print(std::cout, "  with the switches of protocol seen above {}, within {}\n", switches,
             met_within(fit, [&](Bytes size) { return fit.time(size); }));
}

std::vector<std::size_t> points_to_learn_from(Preparer& points, bool all_rows) {
  if (!all_rows) return points_as_evidence(points);
  std::vector<std::size_t> known;
  for (std::size_t point = 0; point < points.file().point_count(); ++point) {
    if (!points.file().measured(point)) continue;
    if (points.scenario(point)->cluster.ranks() > RankCount(1)) known.push_back(point);
  }
  return known;
}

// Fits to a scenario's known points; with `all_rows`, to all that were measured.
LearntSteps learn(const std::string& path, const SharedOptions& options, bool all_rows) {
  const auto file = ScenarioFile::read(path, options.parsed_settings());
  Preparer points(file);
  const std::vector<std::size_t> known = points_to_learn_from(points, all_rows);
  if (known.empty()) {
    throw InputError({path},
                     all_rows ? "has no measured point of several GPUs"
                              : "has no known point of several GPUs to learn from",
                     "give --known \"gpus=8,throughput=900 samples/s\", or --all-rows for all "
                     "points of measured:");
  }
  if (known.size() > learnt_rows_most) {
    throw InputError({path}, fmt::format("has {} points to learn from", known.size()),
                     fmt::format("mark {} of them known: true", learnt_rows_most));
  }
  return learn_from(points, known, options.force);
}

// Of scenarios that have no row of one kind together: one machine has one kind, a sweep several.
void expect_one_kind(const std::vector<LearntSteps>& learnt) {
  for (const LearntSteps& steps : learnt) {
    const LearntSteps& first = learnt.front();
    const auto is_like_first = [&](const LearntSteps::Row& row) {
      return std::ranges::any_of(first.rows, [&](const LearntSteps::Row& one) {
        return one.intra_node == row.intra_node && one.transport == row.transport;
      });
    };
    if (std::ranges::any_of(steps.rows, is_like_first)) continue;
    const LearntSteps::Row &here = steps.rows.front(), &there = first.rows.front();
    throw InputError({steps.scenario},
                     fmt::format("is from another machine than {}: {} and {}, not {} and {}",
                                 first.scenario, to_text(here.intra_node), to_text(here.transport),
                                 to_text(there.intra_node), to_text(there.transport)),
                     "write a file for each machine");
  }
}

void write_told(const std::vector<LearntSteps>& learnt) {
  for (const LearntSteps& steps : learnt) {
    TextTable table({"learnt from " + steps.scenario, "measured / predicted step", "what",
                     "believed", "90% interval"},
                    2);
    for (const LearntSteps::Row& row : steps.rows) {
      std::string measured = fmt::format("{:.3f}", std::exp(row.known.measured));
      std::string place = fmt::format("{}x{} GPUs", row.nodes, row.gpus_per_node);
      for (const LearntSteps::Said& one : row.said) {
        table.add(
            {std::exchange(place, ""), std::exchange(measured, ""),
             std::string(to_text(one.quantity)), told(one.quantity, one.value),
             fmt::format("{} to {}", told(one.quantity, one.low), told(one.quantity, one.high))});
      }
    }
    table.write(std::cout);
  }
}

// What would do nothing is refused.
void check(const Options& options) {
  files::expect_each_once(options.inputs);
  const std::size_t scenarios = options.those(true).size();
  if (scenarios == options.inputs.size()) {
    options.log.refuse("no log is given");
    refuse_given("no log is given",
                 {{"--between", options.between}, {"--cluster", options.cluster}});
  }
  options.shared.expect_known_of_one(scenarios);
  if (scenarios > 0) return;
  if (options.all_rows) {
    throw InputError({"--all-rows"}, "has no effect: no scenario is given",
                     "give one with measured: points");
  }
  for (const ScenarioFile::Setting& one : options.shared.parsed_settings()) {
    throw InputError({one.as_typed()}, "has no effect: no scenario is given", "leave it out");
  }
}

int run(Options& options) {
  check(options);
  const MeasuredFiles files = read_measured_files(options.those(false), options.parsed());
  const auto& tables = files.logs;
  FitProgress progress{options.shared.run_options().progress};
  Calibration calibration;
  {
    const ProgressEnd end(progress.told);
    if (!tables.empty()) progress.tell(counted(tables.size(), "log"));
    calibration = calibrate(tables, options.machine(tables));
    calibration.links = calibrate_links(files.links);
    for (const std::string& path : options.those(true)) {
      progress.tell(path);
      calibration.learnt.push_back(learn(path, options.shared, options.all_rows));
    }
  }
  expect_one_kind(calibration.learnt);
  if (!options.output.is_standard_output()) {
    write_sources(calibration);
    if (calibration.machine) write_machine_parts(*calibration.machine);
    for (const LogTable& table : tables) {
      for (const std::string& note : table.notes) {
        fmt::print(std::cout, "{}: {}: {}\n", table.file, to_text(table.shape.collective), note);
      }
    }
    for (const auto& [collective, fit] : calibration.fits) {
      write_fit(collective, fit, calibration, tables);
      write_largest_left_out(collective, tables, calibration.machine, progress);
    }
    if (!calibration.links.empty() && !calibration.sources.empty()) std::cout << '\n';
    for (const auto& [place, link] : calibration.links) write_link(place, link);
    write_told(calibration.learnt);
  }
  if (calibration.fits.empty() && calibration.links.empty() && calibration.learnt.empty()) {
    throw InputError({options.inputs.front()}, "has no collective that can be fitted",
                     "give all_reduce, reduce_scatter, all_gather, broadcast or reduce");
  }
  options.output.write([&](std::ostream& out) { write_calibration(out, calibration); });
  return exit_done;
}

}  // namespace calibrate_command

Action attach_calibrate(CommandOptions& app) {
  using namespace calibrate_command;
  auto options = std::make_shared<Options>();
  app.add_option(
         "inputs", options->inputs,
         "Logs of collectives: output of nccl-tests (text or JSON), of NCCL's inspector "
         "plugin, of OSU's and Intel's MPI benchmarks, tables, or JSON of paceline measure. "
         "Logs of ping-pongs: osu_latency, IMB or tables. Scenario files (.yaml) with known "
         "measured points: what these show of the machine is used for its other "
         "scenarios.")
      .required()
      .reads_files("");
  app.in_group("Output")
      .add_output("-o,--output", options->output,
                  "Write the calibration as YAML to this file; - is standard output.")
      .required();
  CommandOptions machine = app.in_group("Machine");
  machine
      .add_option("--between", options->between,
                  "Whether ping-pongs ran between nodes or between gpus of one node, where their "
                  "logs do not say so.")
      .suggests({"nodes", "gpus"});
  machine
      .add_option("--cluster", options->cluster,
                  "The cluster of the logs, a preset or a file; needed to predict numbers of GPUs "
                  "per node that no log measured.")
      .reads_files("")
      .suggests(shipped_presets);
  machine.add_flag("--all-rows", options->all_rows,
                   "Use every measured point of the scenarios, not only the known ones.");
  options->log.add_to(app);
  options->shared.add_to(app);
  return [options] { return run(*options); };
}

}  // namespace paceline::cli
