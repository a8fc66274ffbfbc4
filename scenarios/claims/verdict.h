#pragma once

#include <cstddef>
#include <iosfwd>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "models/shipped_file.h"
#include "models/words.h"
#include "scenarios/loader/scenario_file.h"
#include "scenarios/predict/run_scenario.h"

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
  void include(double value);  // from none on, the ends are the least and the most
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

struct Trial {
  std::vector<std::size_t> at;  // by axis, the index of its value
  std::optional<double> value;  // of the claim's quantity; empty where the condition does not count
  std::string left_out;         // why it does not
  bool holds = false;
  double exposed_before = 0;  // the part of the step before that waits for collectives
  std::string before, after;  // which settings of several were taken
};

// Predictions of scenarios of claims, each made once: several claims ask for the same ones.
class Predictions {
 public:
  explicit Predictions(RunOptions options) : options_(std::move(options)) {}

  // Of the claim's scenario with these settings, of which the last of a path holds. Throws
  // InputError, BackendError and Stopped.
  const Attempt& of(const Claim& claim, const Settings& settings);

 private:
  RunOptions options_;
  std::map<std::string, Attempt> known_;  // by all that makes the scenario
};

// Predicts the claim at every condition in grid order, the last axis fastest. A condition does not
// count where a strategy refuses it, a step does not fit its GPU, the quantity is a part of
// nothing, or what the claim takes as given is not so. Throws InputError, BackendError and Stopped.
[[nodiscard]] std::vector<Trial> put_to_test(const Claim& claim, Predictions& predictions);

// Of two steps, or of `after` alone. Empty: a part of nothing. Precondition: both predicted.
[[nodiscard]] std::optional<double> value_of(Quantity quantity, const PointOutcome& before,
                                             const PointOutcome& after);

// "43 %" or "2.7x".
[[nodiscard]] std::string to_text(Quantity quantity, double value);

enum class Verdict { holds, holds_if, does_not_hold, cannot_be_told };

constexpr auto words_of(Verdict) {
  return words_up_to<Verdict::cannot_be_told>("holds", "holds if", "does not hold",
                                              "cannot be told");
}

// A set of conditions, given by values on one or two axes, at all of which a claim holds.
struct Where {
  std::string text;            // "latency is 5ms or more and gpus is 8"
  std::vector<bool> is_there;  // by trial
  std::size_t count = 0;       // of the trials that count and are there
};

// The largest such set, of the fewest axes; nullopt: none. Precondition: trials of the whole grid.
[[nodiscard]] std::optional<Where> where_it_holds(const std::vector<ClaimAxis>& axes,
                                                  const std::vector<Trial>& trials);

struct Finding {
  Claim claim;
  std::vector<Trial> trials;
  std::size_t counted = 0, held = 0;  // trials
  Range predicted;                    // without ends when no trial counts
  std::optional<Where> where;         // of those that it holds at some, but not all of
  Verdict verdict = Verdict::cannot_be_told;
  std::string reason;  // one line
};

// A claim holds if all trials that count do, and holds where some do and a range of conditions says
// where. What decides and is not modelled cannot be told, whatever was predicted.
[[nodiscard]] Finding judge(Claim claim, std::vector<Trial> trials);

// "50 % to 70 %", "3.00x or more"; of ends that are the same one, and "nothing" without any.
[[nodiscard]] std::string to_text(Quantity quantity, const Range& range);

// A paragraph a claim, then a line each. Where `with_conditions` a table of every condition, too.
void write_text(std::ostream& out, const std::vector<Finding>& findings, bool with_conditions);

// paceline.claims/1: one object and a line break; ratios and parts as numbers (0.5 for 50 %).
void write_json(std::ostream& out, const std::vector<Finding>& findings, bool is_complete);

}  // namespace paceline::claims
