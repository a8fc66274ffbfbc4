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

}  // namespace paceline::doctor
