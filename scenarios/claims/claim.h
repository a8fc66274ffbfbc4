#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/shipped_file.h"
#include "models/words.h"
#include "scenarios/loader/scenario_file.h"

namespace paceline {

// Those of scenarios/library/claims.
[[nodiscard]] std::span<const ShippedFile> shipped_claims();

}  // namespace paceline

namespace paceline::claims {

// What a claim is about, of a step, or of two: one as it was before a change, one after it.
enum class Quantity {
  speedup,              // of the step after: over one GPU without a wrapper
  communication_share,  // of it: the part of the step in which a collective is in flight
  exposed_share,        // of it: the part of the step that waits for collectives
  throughput_ratio,     // samples a second, after over before
  time_saved,           // of the time a sample takes
  communication_ratio,  // time in which a collective is in flight, before over after
  communication_saved,  // of that time
  exposed_saved,        // of the time that is not hidden by compute
  traffic_saved,        // of the bytes of all collective calls
};

constexpr auto words_of(Quantity) {
  return words_up_to<Quantity::traffic_saved>(
      "speedup", "communication_share", "exposed_share", "throughput_ratio", "time_saved",
      "communication_ratio", "communication_saved", "exposed_saved", "traffic_saved");
}

// Both ends included; an end that is absent is open.
struct Range {
  std::optional<double> least, most;

  [[nodiscard]] bool holds(double value) const;
};

// What must be so for a condition to count.
struct Given {
  Quantity quantity{};
  Range range;
};

// A list of conditions along one path of a scenario file.
struct ClaimAxis {
  std::string path;
  std::vector<std::string> values;  // numbers ascend
};

using Settings = std::vector<ScenarioFile::Setting>;

// A rule of thumb, and what it takes to try it: a file of scenarios/library/claims.
struct Claim {
  std::string name;      // of the file, without its ending
  std::string sentence;  // as people say it
  std::string source;    // who says it: an address or a title; "folklore" where nobody is known
  std::string scenario;  // the path of its scenario; empty: `base` is the scenario
  ScenarioValues base;
  // The settings that are compared; of several in one list the one with the best throughput is
  // taken. At least one each, which may be empty: the scenario as it is.
  std::vector<Settings> before, after;
  Quantity quantity{};
  Range claimed;
  std::optional<Given> given;
  std::vector<ClaimAxis> conditions;  // the grid on which it is tried
  std::string not_modelled;  // what decides and no prediction knows; empty where all of it is
  std::string note;          // what else is known; may be empty
};

// Of a shipped claim by name, or of a file (*.yaml). Throws InputError.
[[nodiscard]] Claim load_claim(const std::string& name);
// Of all shipped ones, by name.
[[nodiscard]] std::vector<Claim> load_shipped_claims();

}  // namespace paceline::claims
