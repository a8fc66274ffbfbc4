#include "scenarios/doctor/recommend.h"

namespace paceline::doctor {
namespace {

bool can_use(const Examination& machine, const char* name) {
  const BackendState* const backend = find_backend(machine, name);
  return backend != nullptr && backend->can_be_used();
}

std::string version_of(const Examination& machine, const char* name) {
  const BackendState* const backend = find_backend(machine, name);
  return backend == nullptr || backend->version.empty() ? "" : " " + backend->version;
}

std::string why_missing(const Examination& machine, const char* name) {
  const BackendState* const backend = find_backend(machine, name);
  if (backend == nullptr) {
    return machine.worker_missing.empty() ? "no such backend" : machine.worker_missing;
  }
  return backend->missing;
}

Recommendation for_gpus(const Examination& machine) {
  const std::string when = "GPUs, a process each";
  const auto gpus = std::to_string(gpus_of(machine));
  if (can_use(machine, "nccl")) {
    return {when, "nccl",
            "NCCL" + version_of(machine, "nccl") + ", " + gpus + (gpus == "1" ? " GPU" : " GPUs") +
                " here; if it fails, gloo"};
  }
  const std::string missing = why_missing(machine, "nccl");
  const bool is_too_old = missing.find("older") != std::string::npos;
  return {
      when, "",
      missing + (is_too_old ? "; practice asks for NCCL 2.5, this backend for 2.14, whose calls "
                              "need not block; until then gloo"
                            : "")};
}

Recommendation for_cpus(const Examination& machine) {
  const std::string when = "ranks on CPUs, or several processes on one GPU, which NCCL refuses";
  if (can_use(machine, "gloo")) {
    return {when, "gloo",
            "TCP between processes, as PyTorch does it; on this machine more ranks than its " +
                std::to_string(machine.cpus) + " CPUs measure the CPUs"};
  }
  if (can_use(machine, "memory")) {
    return {when, "memory", "threads of one process; for gloo: " + why_missing(machine, "gloo")};
  }
  return {when, "", why_missing(machine, "gloo")};
}

Recommendation for_clusters(const Examination& machine) {
  const std::string when = "a supercomputer with an MPI of its own";
  const bool has_launcher = machine.mpirun || machine.slurm_job;
  if (!can_use(machine, "mpi")) return {when, "", why_missing(machine, "mpi")};
  if (!has_launcher) return {when, "", "neither mpirun nor a Slurm job here: install openmpi-bin"};
  std::string why = machine.mpirun ? "mpirun is " + *machine.mpirun : "";
  if (machine.slurm_job) {
    why += std::string(why.empty() ? "" : ", ") + "inside Slurm job " + *machine.slurm_job;
  }
  return {when, "mpi", why};
}

}  // namespace

std::vector<Recommendation> recommend(const Examination& machine) {
  return {for_gpus(machine), for_cpus(machine), for_clusters(machine)};
}

}  // namespace paceline::doctor
