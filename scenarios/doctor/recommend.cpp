#include "scenarios/doctor/recommend.h"

#include <algorithm>
#include <array>
#include <ranges>

namespace paceline::doctor {

namespace {

struct Use {
  std::string_view name;  // as rows of backends have it
  std::string_view when;
  std::string (*means)(const Examination& machine);  // what this machine has for it
  std::string_view no_means = {};                    // what to do where that is nothing
};

std::string gpus_here(const Examination& machine) {
  const auto gpus = devices_of(machine).size();
  const BackendState* const other = find_backend_for("cpus", machine);
  return std::to_string(gpus) + (gpus == 1 ? " GPU here" : " GPUs here") +
         (other == nullptr ? "" : "; if it fails, " + other->name);
}

std::string cpus_here(const Examination& machine) {
  return "on this machine more ranks than its " + std::to_string(machine.cpus) +
         " CPUs measure the CPUs";
}

std::string launchers_here(const Examination& machine) {
  std::string text = machine.mpirun ? "mpirun is " + *machine.mpirun : "";
  if (machine.slurm_job) {
    text += std::string(text.empty() ? "" : ", ") + "inside Slurm job " + *machine.slurm_job;
  }
  return text;
}

constexpr std::array uses{
    Use{"gpus", "GPUs, a process each", gpus_here},
    Use{"cpus", "ranks on CPUs, or several processes on one GPU, which NCCL refuses", cpus_here},
    Use{"mpi", "a supercomputer with an MPI of its own", launchers_here,
        "neither mpirun nor a Slurm job here: install openmpi-bin"}};

// The backend that would be used if it could.
const BackendState* first_choice(std::string_view use, const Examination& machine) {
  const auto rows = machine.backends | std::views::reverse;
  const auto found = std::ranges::find(rows, use, &BackendState::recommended_for);
  return found == rows.end() ? nullptr : &*found;
}

Recommendation recommendation_for(const Use& use, const Examination& machine) {
  const std::string when(use.when);
  const BackendState* const best = first_choice(use.name, machine);
  if (best == nullptr) {
    const std::string& fault = machine.worker_missing;
    return {when, "", fault.empty() ? "this build has no backend for it" : fault};
  }
  const BackendState* const backend = find_backend_for(use.name, machine);
  if (backend == nullptr) return {when, "", best->missing};
  const std::string means = use.means(machine);
  if (means.empty()) return {when, "", std::string(use.no_means)};
  std::string why = backend->summary;
  if (!backend->version.empty()) why += " (" + backend->version + ")";
  why += "; " + means;
  if (backend != best) why += "; for " + best->name + ": " + best->missing;
  return {when, backend->name, why};
}

}  // namespace

const BackendState* find_backend_for(std::string_view use, const Examination& machine) {
  const auto rows = machine.backends | std::views::reverse;
  const auto found = std::ranges::find_if(rows, [&](const BackendState& backend) {
    return backend.recommended_for == use && backend.can_be_used();
  });
  return found == rows.end() ? nullptr : &*found;
}

std::vector<Recommendation> recommend(const Examination& machine) {
  std::vector<Recommendation> all;
  for (const Use& use : uses) all.push_back(recommendation_for(use, machine));
  return all;
}

namespace {

RecordingAdvice profiler(const TracingTools& tools) {
  return {
      "PyTorch's profiler",
      tools.torch,
      "kernels, collectives and gradients of a script that can be changed",
      {"import os", "from torch.profiler import ProfilerActivity, profile, schedule",
       "rank = os.environ.get('RANK', '0')",
       "with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],",
       "             schedule=schedule(wait=5, warmup=3, active=5, repeat=1),",
       "             record_shapes=True, with_stack=False,",
       "             on_trace_ready=lambda p: p.export_chrome_trace(f'trace.{rank}.json')) as p:",
       "    for batch in loader:  # your training loop", "        train_step(batch)",
       "        p.step()"},
      true,
      {"The schedule skips the first steps, in which DDP builds its buckets anew and kernels are "
       "chosen.",
       "record_shapes=True shows the sizes of gradients and collectives.",
       "Stacks cost time in every step, so with_stack is off.",
       "Each rank writes a file of its own."},
      "paceline import trace.*.json"};
}

RecordingAdvice recorder(const TracingTools& tools) {
  return {"paceline_recorder.py",
          tools.torch,
          "the times of layers, gradients and buckets without a profiler's cost, on CPUs as well",
          {"import paceline_recorder  # traces/torch/paceline_recorder.py, beside the script",
           "# train for a few steps first: DDP builds its buckets anew after the first",
           "with paceline_recorder.record('run.trace'):", "    train()"},
          true,
          {"Each rank writes run.RANK.trace. Recording ends after 100 steps."},
          "paceline import run.*.trace"};
}

RecordingAdvice nsight(const TracingTools& tools) {
  return {"Nsight Systems",
          tools.nsys,
          "a program that cannot be changed, on NVIDIA's GPUs",
          {"nsys profile --trace=cuda,nvtx --cuda-graph-trace=node --delay=30 --duration=20 "
           "-o report python3 train.py",
           "nsys export --type sqlite report.nsys-rep"},
          false,
          {"With NVTX and NCCL 2.14 or later, the report contains the sizes of collectives.",
           "The delay skips the start of the program, and the duration keeps the report small."},
          "paceline import report.sqlite"};
}

}  // namespace

std::vector<RecordingAdvice> recording_advice(const TracingTools& tools) {
  return {profiler(tools), recorder(tools), nsight(tools)};
}

}  // namespace paceline::doctor
