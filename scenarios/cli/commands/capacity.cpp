#include <fmt/format.h>

#include <memory>

#include "scenarios/capacity/answer.h"
#include "scenarios/cli/command.h"
#include "scenarios/cli/result_output.h"
#include "scenarios/cli/run_options.h"
#include "scenarios/files/shipped_input.h"
#include "scenarios/predict/evidence.h"
#include "scenarios/process/stop_request.h"

namespace paceline::cli {
namespace capacity_command {

struct Options {
  std::string job;
  ResultOutput output;
  TimeLimit limit;
  SharedOptions shared;
};

int run(Options& options) {
  const StopRequest stop(options.limit.parsed());
  const PlannedJob job = load_job(options.job, options.shared.parsed_settings());
  RunOptions run_options = options.shared.run_options();
  const ProgressEnd end(run_options.progress);
  if (run_options.progress) run_options.progress({.of = "plans", .doing = "listing what there is"});
  capacity::Grid grid = capacity::grid_of(job, unconditioned_belief().priors());
  capacity::Predictor predictor(job, run_options);
  capacity::Search search(
      job, grid, [&](const capacity::Setup& setup) { return predictor.step_at_least(setup); },
      [&](std::span<const capacity::Setup> setups) { return predictor.speeds(setups); });
  const capacity::Answer answer = answer_of(job, grid, search, predictor);
  options.output.write(
      [&](std::ostream& out) {
        write_answer(out, job, grid, answer, predictor, capacity::today());
      },
      [&](std::ostream& out) { write_json(out, job, grid, answer, predictor); }, job.name,
      job.text);
  if (!answer.is_complete) {
    return say_stopped(fmt::format("{} of {} plans", answer.predicted, answer.setups));
  }
  return answer.best ? exit_done : exit_check_failed;
}

}  // namespace capacity_command

Action attach_capacity(CommandOptions& app) {
  using namespace capacity_command;
  auto options = std::make_shared<Options>();
  app.add_option("job", options->job,
                 "The job file (YAML, schema paceline.job/1), or the name of a shipped one.")
      .required()
      .reads_files(files::shipped_job_folder);
  options->limit.add_to(app);
  options->shared.add_but_known_to(app);
  options->output.add_to(app, "the plan");
  return [options] { return run(*options); };
}

}  // namespace paceline::cli
