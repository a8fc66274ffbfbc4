#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace paceline::init {

// What whoever asks for a scenario says of it; an empty text is not said. The texts are spelled as
// a scenario's keys take them.
struct Wishes {
  std::string model = {}, batch = {}, device = {}, preset = {}, gpus = {}, gpus_per_node = {},
              network = {}, transport = {}, strategy = {};
};

// What was found out, of a trace or of this machine; empty: not found.
struct Facts {
  std::string found_in = {};             // "the trace", "this machine"
  std::vector<std::string> traces = {};  // paths, from the folder of the scenario
  std::string batch = {}, device = {}, strategy = {};
  std::optional<std::uint32_t> gpus = {}, gpus_per_node = {};
  bool is_alone = false;                // ranks are to run on this machine
  std::string backend = {};             // to measure with
  std::vector<std::string> notes = {};  // sentences
};

}  // namespace paceline::init
