#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/units/units.h"

namespace paceline {

// What a command says of a scenario in place of a file: single values by the paths of a file's keys
// (but for `schema`), so that options of commands mean and complain as those keys do.
struct ScenarioValues {
  // The length of the step of its one point, where that was measured.
  struct Measured {
    std::string source;
    Seconds step;
  };

  std::map<std::string, std::string> by_path;
  std::map<std::string, std::vector<std::string>> lists =
      {};                                        // likewise, each with an element or more
  std::map<std::string, std::string> yaml = {};  // likewise, sections of shipped files
  std::optional<Measured> measured = std::nullopt;

  // Options of a command: an empty one was not given, and sets nothing.
  void set_given(std::initializer_list<std::pair<const char*, std::string>> options) {
    for (const auto& [path, text] : options) {
      if (!text.empty()) by_path.insert_or_assign(path, text);
    }
  }
};

// Of a small network, for what asks about something else: a cluster, a collective, another network.
// All that a scenario needs but its cluster.
[[nodiscard]] inline ScenarioValues small_values() {
  return {{{"name", "command line"},
           {"workload.model", "resnet50"},
           {"workload.batch_per_gpu", "1"},
           {"workload.device", "a100-sxm4-40gb"},
           {"training.strategy", "ddp"}}};
}

}  // namespace paceline
