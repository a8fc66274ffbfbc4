#pragma once

#include <optional>
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

// A tool that records training for `paceline import`, and how to use it.
struct RecordingAdvice {
  std::string tool;                  // "PyTorch's profiler"
  std::optional<std::string> here;   // where the machine has it; nullopt: not found
  std::string best_for;              // goes on after the tool
  std::vector<std::string> lines;    // to paste: of a script, or of a shell
  bool is_script = false;            // Python, and else a shell's
  std::vector<std::string> reasons;  // why the options are as they are; sentences
  std::string import;                // the command that reads what was recorded
};

// The first that the machine has is the one to use. Sources: the documentation of torch.profiler
// (schedule, record_shapes, export_chrome_trace) and of Nsight Systems (profile, export).
[[nodiscard]] std::vector<RecordingAdvice> recording_advice(const TracingTools& tools);

}  // namespace paceline::doctor
