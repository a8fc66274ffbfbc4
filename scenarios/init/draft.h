#pragma once

#include <string>
#include <vector>

#include "scenarios/init/asker.h"
#include "scenarios/init/facts.h"

namespace paceline::init {

// Where a value of a draft comes from.
enum class Origin { given, answered, assumed, found };

// A value of the scenario, and where it comes from.
struct Entry {
  std::string path, value;  // as a file spells it, YAML where it is no single value
  Origin origin = Origin::given;
  std::string from;  // of what is found, in words; of what is assumed why, may be empty
};

// A scenario before it is written.
struct Draft {
  std::string name;
  std::vector<Entry> entries;      // in the order of a file, each once, sections together
  std::vector<std::string> notes;  // sentences
  std::string measure_first;       // a sentence
  std::string largest;             // number of GPUs
  bool measures = false;           // ranks can be run on this machine

  [[nodiscard]] const Entry* find(const std::string& path) const;
};

// Asks for what neither wishes nor facts say. Throws InputError where the result is no valid
// scenario. `folder` is the one that the file will be in; its paths are relative to it.
[[nodiscard]] Draft make_draft(const Wishes& wishes, const Facts& facts, Asker& asker,
                               const std::string& folder);

}  // namespace paceline::init
