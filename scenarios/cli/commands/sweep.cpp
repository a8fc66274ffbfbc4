#include "scenarios/sweep/sweep.h"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iostream>
#include <memory>

#include "models/text/number.h"
#include "scenarios/cli/command.h"
#include "scenarios/cli/common_options.h"
#include "scenarios/cli/option_values.h"
#include "scenarios/cli/result_output.h"
#include "scenarios/cli/run_options.h"
#include "scenarios/files/input_file.h"
#include "scenarios/process/line_process.h"
#include "scenarios/process/memory.h"
#include "scenarios/process/stop_request.h"

namespace paceline::cli {
namespace sweep_command {

struct Options {
  std::vector<std::string> scenarios, merged;
  std::string store, shard, sample_seed;
  ReportOutput report;
  files::OutputFile csv, json;
  PageOutput page;
  std::uint64_t sample = 0;  // 0: not given
  int ranks = 0;             // of MPI; 0: not given
  SharedOptions shared;
};

// "2/8"
sweep::Shard shard_of(const std::string& text) {
  const auto slash = text.find('/');
  if (slash != std::string::npos) {
    const auto number = number_of<std::uint64_t>(text.substr(0, slash));
    const auto of = number_of<std::uint64_t>(text.substr(slash + 1));
    if (number && of && *number >= 1 && *number <= *of) return {*number, *of};
  }
  throw InputError({"--shard"}, fmt::format("\"{:.60}\" is not a part of the whole", text),
                   "write 1/8 for the first of eight, 8/8 for the last");
}

void check_options(const Options& options) {
  if (options.scenarios.empty() == options.merged.empty()) {
    throw InputError({options.merged.empty() ? "scenario" : "--merge"},
                     options.merged.empty() ? "is missing" : "joins stores, and runs no scenario",
                     "give scenario files, or stores to --merge");
  }
  if (!options.merged.empty()) options.shared.refuse_known("--merge runs no scenario");
  options.shared.expect_known_of_one(options.scenarios.size());
  if (!options.merged.empty() && (options.csv.is_asked() || options.json.is_asked() ||
                                  options.page.is_asked() || options.report.markdown.is_asked())) {
    throw InputError(
        {"--merge"}, "writes the store alone",
        "sweep the scenarios into it for a report, a CSV or a JSON; paceline report STORE makes "
        "a page");
  }
  if (!options.sample_seed.empty() && options.sample == 0) {
    throw InputError({"--sample-seed"}, "has no effect", "add --sample N");
  }
}

sweep::Request request_of(const Options& options) {
  sweep::Request request;
  request.paths = options.scenarios;
  request.settings = options.shared.parsed_settings();
  if (options.sample > 0) request.sample = options.sample;
  if (!options.sample_seed.empty()) {
    const auto seed = number_of<std::uint64_t>(options.sample_seed);
    if (!seed) {
      throw InputError({"--sample-seed"},
                       fmt::format("\"{:.60}\" is no number", options.sample_seed), "write 7");
    }
    request.seed = *seed;
  }
  if (!options.shard.empty()) request.shard = shard_of(options.shard);
  request.force = options.shared.force;
  request.jobs = static_cast<std::size_t>(options.shared.jobs);
  request.progress = options.shared.run_options().progress;
  return request;
}

int merge(const Options& options) {
  files::expect_each_once(options.merged);
  sweep::Store store(options.store);
  for (const std::string& other : options.merged) {
    const std::uint64_t added = store.merge(other);
    fmt::print(std::cout, "{}: {} new points\n", other, added);
  }
  fmt::print(std::cout, "{} contains {} points\n", options.store, store.points());
  return exit_done;
}

// Runs the same command line on MPI ranks; returns only where they cannot be started.
int start_ranks(int ranks) {
  std::vector<std::string> words{"mpirun", "-n", std::to_string(ranks),
                                 executor_path("paceline-sweep")};
  const std::vector<std::string> own = own_arguments();
  bool is_command = false;
  for (std::size_t i = 1; i < own.size(); ++i) {
    if (own[i] == "--mpi") {
      ++i;
    } else if (!own[i].starts_with("--mpi=") && (is_command || own[i] != "sweep")) {
      words.push_back(own[i]);
    } else {
      is_command = is_command || own[i] == "sweep";
    }
  }
  if (::access(words[3].c_str(), X_OK) != 0) {
    throw InputError({"--mpi"}, "is not built: MPI was not found",
                     "install libopenmpi-dev and openmpi-bin, and build again");
  }
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  release_memory(0);
  ::execvp(argv[0], argv.data());
  throw BackendError("mpirun", std::string("cannot be started: ") + std::strerror(errno));
}

int say_failures(const sweep::Summary& summary) {
  const std::uint64_t wrong = summary.failed + summary.refused;
  if (wrong == 0) return exit_done;
  complain(
      fmt::format("points without a prediction: {}; the first: {}", wrong, summary.first_failure));
  if (summary.failed > 0) return exit_environment;
  return summary.added + summary.known > 0 ? exit_done : exit_bad_input;
}

int run(Options& options) {
  check_options(options);
  if (options.ranks > 0) return start_ranks(options.ranks);
  if (!options.merged.empty()) return merge(options);
  const sweep::Request request = request_of(options);
  const sweep::Grids grids = sweep::read_grids(request);
  sweep::Store store(options.store);
  for (const auto& grid : grids) {
    if (store.has_another(grid->file)) {
      complain(
          fmt::format("{} contains points of another {}; points that did not change are reused, "
                      "the others stay",
                      options.store, grid->swept.path));
    }
  }
  const StopRequest stop;
  sweep::Summary summary;
  const auto done = [&] {
    return fmt::format("{} of {} points, in {}", summary.added + summary.known, summary.asked,
                       options.store);
  };
  try {
    sweep::predict(request, grids, store, summary);
  } catch (const Stopped&) {
    return say_stopped(done());
  } catch (const BackendError& error) {
    if (summary.asked == 0) throw;  // nothing was begun
    complain(fmt::format("{}; done: {}", error.what(), done()));
    return exit_environment;
  }
  const bool is_taken = options.csv.is_standard_output() || options.json.is_standard_output();
  options.report.write(
      is_taken, [&](std::ostream& out) { write_summary(out, request, grids, summary, store); });
  options.csv.write_if_asked(
      [&](std::ostream& out) { sweep::write_csv(out, request, grids, store); });
  options.json.write_if_asked(
      [&](std::ostream& out) { write_summary_json(out, grids, summary, store); });
  options.page.write_if_asked(
      grids.front()->file.name(),
      grids.size() == 1 ? std::optional(grids.front()->file.text()) : std::nullopt,
      [&]() -> std::vector<page::Document> {
        return {document_of(store.path(), [&](std::ostream& out) {
          sweep::write_points_json(out, request, grids, store);
        })};
      });
  return say_failures(summary);
}

}  // namespace sweep_command

Action attach_sweep(CommandOptions& app) {
  using namespace sweep_command;
  auto options = std::make_shared<Options>();
  add_scenario(app, options->scenarios);
  CommandOptions store = app.in_group("Store");
  store
      .add_option(
          "--store", options->store,
          "The SQLite file that keeps the points; points that it contains are not predicted "
          "again.")
      .required()
      .reads_files("");
  store
      .add_option("--merge", options->merged,
                  "Add the points of these stores to --store; needs no scenario.")
      .reads_files("");
  CommandOptions points = app.in_group("Points");
  points
      .add_option("--sample", options->sample,
                  "Predict this number of points of each file, spread evenly over its grid "
                  "(default: all).")
      .in_range(1, 1'000'000'000);
  points.add_option("--sample-seed", options->sample_seed,
                    "Choose another sample for each number (default: 1).");
  CommandOptions machines = app.in_group("Machines");
  machines.add_option("--shard", options->shard,
                      "Predict a part of the points, for job arrays: 2/8 is the second eighth.");
  machines.add_option("--mpi", options->ranks, "Start this number of ranks with mpirun.")
      .in_range(1, 100'000);
  CommandOptions output = app.in_group("Output");
  output.add_output("--csv", options->csv, "Write the points as CSV, in the order of the grid.");
  add_json(app, options->json, "the summary");
  options->report.add_markdown_to(app);
  options->page.add_to(app);
  options->shared.add_system_to(app);
  options->shared.add_to(app);
  return [options] { return run(*options); };
}

}  // namespace paceline::cli
