#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/doctor/doctor.h"

namespace paceline::init {

// What the user says about the scenario, spelled as its keys take it; empty: nothing.
struct Wishes {
  std::string model = {}, batch = {}, device = {}, preset = {}, gpus = {}, gpus_per_node = {},
              network = {}, transport = {}, strategy = {};
};

// What a trace or this machine shows; empty: not found.
struct Facts {
  std::string found_in = {};             // "the trace", "this machine"
  std::vector<std::string> traces = {};  // paths, from the folder of the scenario
  std::string batch = {}, device = {}, strategy = {};
  std::optional<std::uint32_t> gpus = {}, gpus_per_node = {};
  bool is_alone = false;                // ranks are to run on this machine
  std::string backend = {};             // to measure with
  std::vector<std::string> notes = {};  // sentences
};

// Reads a traced run: its batch, device, ranks and nodes, as far as it says them, and the strategy
// that can use it. Paths are relative to `folder`, that of the scenario. Throws InputError.
[[nodiscard]] Facts facts_of_traces(const std::vector<std::string>& paths,
                                    const std::string& folder);

// Takes a machine and its driver's names for GPUs. Without GPUs, the CPUs run the ranks.
[[nodiscard]] Facts facts_of_machine(const doctor::Examination& machine,
                                     const std::vector<std::string>& gpu_names);

}  // namespace paceline::init
