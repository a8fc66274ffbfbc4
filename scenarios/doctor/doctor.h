#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/text/fields.h"
#include "models/units/units.h"

namespace paceline::doctor {

// What this machine can record training with. Nothing is started: interpreters may take seconds.
struct TracingTools {
  std::optional<std::string> torch;  // its folder, with the version behind it where a file says
  std::optional<std::string> nsys;   // paths of programs
  std::optional<std::string> nvidia_smi;
};

// Along a list of folders, as PATH has it. nullopt: none of them has an executable of that name.
[[nodiscard]] std::optional<std::string> find_program(const std::string& name,
                                                      const std::string& folders);

// Along PATH and PYTHONPATH; torch also where the interpreters of PATH keep their packages.
[[nodiscard]] TracingTools find_tracing_tools(const std::string& path,
                                              const std::string& python_path);

// A backend of paceline-worker, as it reports itself.
struct BackendState {
  std::string name, summary;
  std::string recommended_for;     // "gpus", "cpus", "mpi"; empty: nothing
  std::string version;             // of its library; may be empty
  std::vector<std::string> notes;  // devices and the like
  std::string missing;             // why it cannot be used here; empty when it can

  [[nodiscard]] bool can_be_used() const { return missing.empty(); }
};

constexpr auto fields_of(const BackendState*) {
  return Fields(field("name", &BackendState::name), field("summary", &BackendState::summary),
                field("recommended_for", &BackendState::recommended_for),
                field("version", &BackendState::version), field("notes", &BackendState::notes),
                field("missing", &BackendState::missing));
}

struct Examination {
  std::string simulator;          // SimGrid's version
  std::string simulator_missing;  // why paceline-sim cannot be used; empty when it can
  std::vector<BackendState> backends;
  std::string worker_missing;  // the same of paceline-worker
  std::uint32_t cpus = 0;      // that this process may use
  Bytes memory;
  std::optional<std::string> mpirun;  // where it is
  std::optional<std::string> slurm_job;
  TracingTools tracing;
};

[[nodiscard]] Examination examine();

// The backends in what paceline-worker wrote. Throws std::runtime_error.
[[nodiscard]] std::vector<BackendState> backends_from_json(const std::string& text);

// The names of the GPUs that a backend finds, one by one. Empty: none does.
[[nodiscard]] std::vector<std::string> devices_of(const Examination& machine);

// For people: what there is, what is missing, what to use.
void write_text(std::ostream& out, const Examination& machine);

// paceline.doctor/1. One object, ends with a line break.
void write_json(std::ostream& out, const Examination& machine);

// The GPUs one by one as nvidia-smi names them; else as backends do. Empty: none.
[[nodiscard]] std::vector<std::string> gpu_names(const Examination& machine);

struct Recommendation {
  std::string when;     // what is to be measured
  std::string backend;  // empty: nothing here does it
  std::string why;
};

// The last backend for "gpus", "cpus" or "mpi" that works on this machine. Null: there is none.
[[nodiscard]] const BackendState* find_backend_for(std::string_view use,
                                                   const Examination& machine);

// One per use: for GPUs a process each; for ranks on CPUs, or several on one GPU; for the MPI of a
// supercomputer, which also needs mpirun or a Slurm job.
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
