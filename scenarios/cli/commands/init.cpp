#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "scenarios/cli/command.h"
#include "scenarios/cli/common_options.h"
#include "scenarios/doctor/doctor.h"
#include "scenarios/errors.h"
#include "scenarios/init/draft.h"

namespace paceline::cli {
namespace init_command {

struct Options {
  init::Wishes wishes;
  std::vector<std::string> traces;
  files::OutputFile output{"scenario.yaml"};
  bool here = false, force = false;
};

// Pipes and the like have nothing to lose.
void refuse_to_replace(const Options& options) {
  std::error_code unknown;
  if (options.force || options.output.is_standard_output()) return;
  if (!std::filesystem::is_regular_file(options.output.path, unknown)) return;
  throw InputError({options.output.path}, "is there already",
                   "name another file with -o, or add --force to replace it");
}

init::Facts facts_of(const Options& options, const std::string& folder) {
  if (!options.traces.empty()) return init::facts_of_traces(options.traces, folder);
  if (!options.here) return {};
  const auto machine = doctor::examine();
  return init::facts_of_machine(machine, doctor::gpu_names(machine));
}

int run(Options& options) {
  refuse_to_replace(options);
  const bool has_folder = !options.output.is_standard_output();
  const std::string folder =
      has_folder ? std::filesystem::path(options.output.path).parent_path().string() : "";
  const init::Facts facts = facts_of(options, folder);
  const bool may_ask = ::isatty(STDIN_FILENO) == 1 && ::isatty(STDERR_FILENO) == 1;
  init::Asker asker = may_ask ? init::Asker(std::cin, std::cerr) : init::Asker();
  const init::Draft draft = init::make_draft(options.wishes, facts, asker, folder);
  const std::string path = has_folder ? options.output.path : "scenario.yaml";
  const std::string text = init::scenario_text(draft, path);
  options.output.write([&](std::ostream& out) { out << text; });
  for (const init::Entry& entry : draft.entries) {
    if (entry.origin != init::Origin::assumed) continue;
    std::cerr << "assumed " << entry.path << ": " << init::in_one_line(entry) << '\n';
  }
  if (has_folder) std::cout << "wrote " << path << "; next: paceline check " << path << '\n';
  return exit_done;
}

}  // namespace init_command

Action attach_init(CommandOptions& app) {
  using namespace init_command;
  auto options = std::make_shared<Options>();
  init::Wishes& wishes = options->wishes;
  app.add_option("--model,--hf", wishes.model,
                 "The network: a shipped one, a .yaml file, or a config.json of Hugging Face.")
      .suggests(shipped_models());
  app.add_option("--sequence", wishes.sequence, "Tokens of a sample.");
  app.add_option("--precision", wishes.precision, "fp32, tf32, amp, bf16 or fp16.");
  app.add_option("--batch", wishes.batch, "Samples per GPU and pass.");
  app.add_option("--device", wishes.device, "The GPU: a shipped one, or a .yaml file.")
      .suggests(shipped_device_names());
  app.add_option("--preset", wishes.preset,
                 "The machines: a shipped preset, a .yaml file, or none.")
      .suggests(shipped_presets());
  app.add_option("--gpus", wishes.gpus, "The largest number of GPUs.");
  app.add_option("--gpus-per-node", wishes.gpus_per_node, "The number of GPUs per node.");
  app.add_option("--network", wishes.network,
                 "The bandwidth of one NIC, one way, such as 100Gbps.");
  app.add_option("--transport", wishes.transport,
                 "How bytes cross between nodes: rdma for InfiniBand or RoCE, tcp for other "
                 "Ethernet (default: rdma).")
      .one_of({"rdma", "tcp"});
  app.add_option("--strategy", wishes.strategy,
                 "The strategy that reduces gradients, such as ddp or fsdp.")
      .suggests(strategy_names);
  const Option trace = app.add_option(
      "--trace", options->traces,
      "Take compute, batch, strategy and GPU from this trace of a profiler, which import "
      "reads. Repeat the option for several files.");
  trace.repeatable();
  const Option here = app.add_flag("--here", options->here,
                                   "Describe this machine: its GPUs, or its CPUs if it has none.");
  here.excludes(trace);
  app.add_output("-o,--output", options->output,
                 "Write the scenario to this file (default: scenario.yaml).");
  app.add_flag("--force", options->force, "Replace the file if there is one.");
  return [options] { return run(*options); };
}

}  // namespace paceline::cli
