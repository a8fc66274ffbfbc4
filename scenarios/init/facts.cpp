#include "scenarios/init/facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "models/training/step_program.h"
#include "scenarios/data_files/node_class.h"
#include "scenarios/doctor/recommend.h"
#include "scenarios/import/traced_run.h"

namespace paceline::init {
namespace {

// Buckets are filled with gradients, whose sizes have to be known.
bool has_gradients_of_known_sizes(const training::StepProgram& program) {
  bool has_some = false;
  for (const training::Operation& operation : program.operations) {
    for (const ElementCount count : operation.gradients) {
      if (count == ElementCount(0)) return false;
      has_some = true;
    }
  }
  return has_some;
}

std::string backend_for(const doctor::Examination& machine, bool has_gpus) {
  const auto* backend = has_gpus ? doctor::find_backend_for("gpus", machine) : nullptr;
  if (backend == nullptr) backend = doctor::find_backend_for("cpus", machine);
  return backend == nullptr ? "" : backend->name;
}

}  // namespace

Facts facts_of_traces(const std::vector<std::string>& paths, const std::string& folder) {
  const auto traced = read_traced_run(paths);
  const traces::TraceRun& run = traced->run;
  Facts facts{.found_in = "the trace"};
  for (const std::string& path : paths) {
    facts.traces.push_back(folder.empty() ? path
                                          : std::filesystem::proximate(path, folder).string());
  }
  if (run.batch_per_gpu) facts.batch = std::to_string(*run.batch_per_gpu);
  facts.device = loader::device_called(run.device).value_or("");
  facts.gpus = run.world_size.value_or(rank_count(run.trace));
  const std::uint32_t of_node = std::min(run.gpus_per_node.value_or(1), *facts.gpus);
  facts.gpus_per_node = of_node > 0 && *facts.gpus % of_node == 0 ? of_node : 1;
  facts.strategy = has_gradients_of_known_sizes(run.trace.program) ? "ddp" : "traced";
  facts.notes.push_back(fmt::format("Compute comes from the traced step of {}{}.", run.name,
                                    run.device.empty() ? "" : " on " + run.device));
  if (facts.strategy == "traced") {
    facts.notes.emplace_back(
        "The trace does not contain the sizes of all gradients, so other strategies need "
        "workload.model.");
  }
  return facts;
}

Facts facts_of_machine(const doctor::Examination& machine,
                       const std::vector<std::string>& gpu_names) {
  Facts facts{.found_in = "this machine"};
  facts.backend = backend_for(machine, !gpu_names.empty());
  if (gpu_names.empty()) {
    constexpr std::uint32_t ranks_most = 4;  // as the quick start runs
    facts.is_alone = true;
    facts.gpus = std::clamp<std::uint32_t>(machine.cpus, 1, ranks_most);
    facts.gpus_per_node = 1;
    facts.notes.push_back(
        fmt::format("No GPU was found here. On the {} CPUs, ranks wait for as long as the device "
                    "would compute, and exchange real gradients.",
                    machine.cpus));
    return facts;
  }
  facts.gpus = facts.gpus_per_node = static_cast<std::uint32_t>(gpu_names.size());
  facts.device = loader::device_called(gpu_names.front()).value_or("");
  if (facts.device.empty()) {
    facts.notes.push_back(
        fmt::format("The GPUs here are called {}, and no shipped device is: write a file of schema "
                    "paceline.device/1 for them.",
                    gpu_names.front()));
  }
  if (machine.tracing.nvidia_smi) {
    facts.notes.emplace_back(
        "For the links of this machine itself: nvidia-smi topo -m > topo.txt, then paceline "
        "topology topo.txt -o cluster.yaml, and cluster: {preset: cluster.yaml}.");
  }
  return facts;
}

}  // namespace paceline::init
