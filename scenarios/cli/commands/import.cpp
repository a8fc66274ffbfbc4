#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "scenarios/cli/command.h"
#include "scenarios/cli/run_options.h"
#include "scenarios/cli/trace_output.h"
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

// Whether standard output is left to the summary.
bool says_summary(const Options& options) {
  return !options.json.is_standard_output() && !options.output.is_standard_output() &&
         !options.timeline.is_standard_output();
}

int run(Options& options) {
  files::expect_each_once(options.paths);
  const bool summary = says_summary(options);
  const Import import = import_traces(options.paths);
  std::vector<traces::TraceRun> runs;
  if (options.output.is_asked() || options.timeline.is_asked()) {
    const std::string name = traces::name_of_input(options.paths.front());
    runs = runs_of(import, name);
    if (runs.empty()) {
      throw InputError({name, 0, 0}, "has no runs to write",
                       "give profilers' traces, or a file that --trace wrote");
    }
  }
  if (summary) {
    write_summary(std::cout, import, options.all ? Rows::all : Rows::worst);
  }
  options.json.write_if_asked([&](std::ostream& out) { write_json(out, import); });
  if (options.output.is_asked()) {
    write_runs(options.output, runs);
  }
  if (options.timeline.is_asked()) write_timeline(options.timeline, runs);
  return exit_done;
}

}  // namespace import_command

Action attach_import(CommandOptions& app) {
  using namespace import_command;
  auto options = std::make_shared<Options>();
  app.add_option("paths", options->paths,
                 "traces of PyTorch's profiler (Kineto), its execution traces, Chakra's, or of "
                 "paceline_recorder.py, a file a rank; what --trace wrote; logs of collectives and "
                 "ping-pongs, as calibrate takes them; topologies; compressed, packed, in folders, "
                 "or - for standard input")
      .required();
  app.add_flag("--all", options->all, "write all rows of long tables, not the worst ones");
  app.add_output("--json", options->json, "write it as JSON; - is standard output");
  app.add_output("-o,--output", options->output,
                 "write the runs as one trace; - is standard output");
  app.add_output("--timeline", options->timeline, "write a Chrome/Perfetto trace of the runs");
  return [options] { return run(*options); };
}

}  // namespace paceline::cli
