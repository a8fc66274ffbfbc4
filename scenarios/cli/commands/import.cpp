#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "scenarios/cli/command.h"
#include "scenarios/cli/common_options.h"
#include "scenarios/cli/result_output.h"
#include "scenarios/files/input_file.h"
#include "scenarios/import/traced_run.h"
#include "traces/archive/input.h"

namespace paceline::cli {
namespace import_command {

struct Options {
  std::vector<std::string> paths;
  files::OutputFile json, output, timeline;
  bool all = false;
};

int run(Options& options) {
  files::expect_each_once(options.paths);
  const Import import = import_traces(options.paths);
  std::vector<traces::TraceRun> runs;
  if (options.output.is_asked() || options.timeline.is_asked()) {
    const std::string name = traces::name_of_input(options.paths.front());
    runs = runs_of(import, name);
    if (runs.empty()) {
      throw InputError({name}, "has no runs to write",
                       "give profilers' traces, or a file that --trace wrote");
    }
  }
  if (!options.json.is_standard_output() && !options.output.is_standard_output() &&
      !options.timeline.is_standard_output()) {
    write_summary(std::cout, import, options.all ? Rows::all : Rows::worst);
  }
  options.json.write_if_asked([&](std::ostream& out) { write_json(out, import); });
  if (options.output.is_asked()) write_runs(options.output, runs);
  if (options.timeline.is_asked()) write_timeline(options.timeline, runs);
  return exit_done;
}

}  // namespace import_command

Action attach_import(CommandOptions& app) {
  using namespace import_command;
  auto options = std::make_shared<Options>();
  app.add_option("paths", options->paths,
                 "Traces of PyTorch's profiler (Kineto), PyTorch's execution traces, traces of "
                 "Chakra or of paceline_recorder.py, one file per rank; files that --trace wrote; "
                 "logs of collectives and ping-pongs, as calibrate reads them; tests of links; "
                 "topologies. Files may be compressed, packed or in folders; - is standard "
                 "input.")
      .required()
      .reads_files("");
  CommandOptions output = app.in_group("Output");
  output.add_flag("--all", options->all, "Print all rows of long tables, not only the worst ones.");
  add_json(app, options->json, "what the files contain");
  output.add_output("-o,--output", options->output,
                    "Write the runs as one trace to this file, for replay; - is standard output.");
  output.add_output("--timeline", options->timeline,
                    "Write the runs as a timeline for Perfetto or Chrome.");
  return [options] { return run(*options); };
}

}  // namespace paceline::cli
