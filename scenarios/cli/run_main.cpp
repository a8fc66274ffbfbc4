#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <exception>
#include <iostream>
#include <new>
#include <string>

#include "scenarios/cli/command.h"
#include "scenarios/cli/plain_output.h"
#include "scenarios/errors.h"

namespace paceline::cli {
namespace {

constexpr std::array rows{
    Command{"run", "predict every point of a scenario, beside what was measured", attach_run},
    Command{"measure", "run every point of a scenario on hardware", attach_measure},
    Command{"compare", "where two results differ: compute, bandwidth, latency or skew",
            attach_compare},
    Command{"buckets", "the exact gradient buckets of DistributedDataParallel", attach_buckets},
    Command{"collective", "a table like nccl-tests' for an algorithm on a cluster",
            attach_collective},
    Command{"calibrate", "fit a cluster's collectives and links to logs and ping-pongs",
            attach_calibrate},
    Command{"list", "the models, devices, presets, strategies and algorithms that are shipped",
            attach_list},
    Command{"topology", "a cluster's file from nvidia-smi topo -m or NCCL's topology file",
            attach_topology},
    Command{"validate", "the error table over measured points of scenarios and logs",
            attach_validate},
    Command{"import", "what profilers' traces say of steps and collectives", attach_import},
    Command{"replay", "a traced step as it was, or in another world", attach_replay},
    Command{"nccl", "what NCCL would choose, by its own model, for each size", attach_nccl},
    Command{"advise", "what limits a step, and what would make it faster", attach_advise},
    Command{"claims", "rules of thumb, and where predictions bear them out", attach_claims},
    Command{"strategies", "every strategy on the points of scenarios", attach_strategies},
    Command{"doctor", "what there is to measure with on this machine, and which to use",
            attach_doctor},
};

// Not through fmt or streams: it must not throw when standard error is gone.
void complain(const std::string& text) {
  std::fputs(("paceline: " + without_controls(text) + "\n").c_str(), stderr);
}

// A result that did not reach standard output is no success.
int done(int exit_code) {
  std::cout.flush();
  if (!std::cout) throw InputError({"standard output", 0, 0}, "cannot be written", "");
  return exit_code;
}

}  // namespace

std::span<const Command> commands() { return rows; }

int run_main(int argc, const char* const* argv) {
  const PlainOutput plain_output(std::cout), plain_errors(std::cerr);
  CLI::App app{"Predicted and measured speedup of data-parallel training.", "paceline"};
  app.require_subcommand(1);
  app.set_version_flag("--version", PACELINE_VERSION);
  std::array<std::pair<CLI::App*, Action>, rows.size()> actions;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CLI::App* sub = app.add_subcommand(std::string(rows[i].name), std::string(rows[i].summary));
    CommandOptions options(*sub);
    actions[i] = {sub, rows[i].attach(options)};
  }
  try {
    app.parse(argc, argv);
    for (const auto& [sub, action] : actions) {
      if (sub->parsed()) return done(action());
    }
    return exit_bad_input;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help and --version
    complain(fmt::format("{}; see paceline --help", error.what()));
    return exit_bad_input;
  } catch (const InputError& error) {
    complain(error.what());
    return exit_bad_input;
  } catch (const BackendError& error) {
    complain(error.what());
    return exit_environment;
  } catch (const std::bad_alloc&) {
    complain("there is not enough memory for this");
    return exit_environment;
  } catch (const std::exception& error) {
    complain(fmt::format("internal error: {}", error.what()));
    return exit_internal;
  }
}

}  // namespace paceline::cli
