#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "scenarios/doctor/doctor.h"

namespace paceline::doctor {

struct Recommendation {
  std::string when;     // what is to be measured
  std::string backend;  // empty: nothing here does it
  std::string why;
};

// The backend to use for "gpus", "cpus" or "mpi": of those whose rows are for that the last that
// works on this machine. Null: there is none.
[[nodiscard]] const BackendState* find_backend_for(std::string_view use,
                                                   const Examination& machine);

// One recommendation for each of these uses, as practitioners choose: for GPUs a process each; for
// ranks on CPUs, and for several processes on one GPU; for the MPI of a supercomputer, which also
// needs mpirun or a Slurm job.
[[nodiscard]] std::vector<Recommendation> recommend(const Examination& machine);

}  // namespace paceline::doctor
