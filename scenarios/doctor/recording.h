#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scenarios/doctor/doctor.h"

namespace paceline::doctor {

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
