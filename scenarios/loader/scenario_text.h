#pragma once

#include <map>
#include <string>
#include <string_view>

#include "scenarios/loader/scenario.h"

namespace paceline {

// A scenario made of command-line values: a small default one whose values are set by their paths,
// so that options of commands mean and complain as the file's keys do.
class ScenarioText {
 public:
  // An empty value sets nothing.
  void set(std::string_view path, const std::string& value);

  // Throws InputError that names the path and value.
  [[nodiscard]] Scenario scenario() const;

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace paceline
