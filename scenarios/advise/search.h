#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "models/words.h"
#include "scenarios/loader/scenario_file.h"
#include "scenarios/predict/run_scenario.h"

namespace paceline::advise {

using Settings = std::vector<ScenarioFile::Setting>;

// What a change is about, and what else it changes.
enum class Option { bucket, strategy, collective, wire_type, accumulation };

constexpr auto words_of(Option) {
  return words_up_to<Option::accumulation>("bucket", "strategy", "collective",
                                           "gradients on the wire", "accumulation");
}

// Whether training computes something else with it: gradients are rounded, or batches larger.
[[nodiscard]] bool alters_training(Option option);

struct Candidate {
  Option option{};
  Settings settings;  // empty: as it is
};

// Alternatives that a search tries one axis at a time. The first is the scenario as it is.
using SearchAxis = std::vector<Candidate>;

// What there is to try: the strategy's buckets, every other strategy with its own, the library's
// algorithms, gradients of 16 bits, accumulation.
[[nodiscard]] std::vector<SearchAxis> options_of(const Scenario& scenario);

// A candidate of each search axis, by index.
using Choice = std::vector<std::size_t>;

// Predictions of one point of a scenario with other settings, each made once.
class Variants {
 public:
  // `start` are the settings of the point. Throws InputError and BackendError.
  Variants(std::string path, Settings start, std::vector<SearchAxis> axes, RunOptions options);

  [[nodiscard]] const std::vector<SearchAxis>& axes() const { return axes_; }
  [[nodiscard]] Settings settings_of(const Choice& choice) const;  // beyond those of the point

  // Settings that the scenario cannot take are refused. Throws BackendError and Stopped.
  const Attempt& of(const Choice& choice);
  // Samples a second; 0 of what is refused or does not fit its GPU.
  [[nodiscard]] double throughput_of(const Choice& choice);

  [[nodiscard]] std::size_t predicted() const { return known_.size(); }

 private:
  std::string path_;
  Settings start_;
  std::vector<SearchAxis> axes_;
  RunOptions options_;
  std::map<Choice, Attempt> known_;
};

// The best choice along one axis after the other from `start`, until nothing changes any more. The
// four best are gone on with, as what is best along one axis may be in the way along another; of
// equal ones the first alone, so that nothing is changed for nothing. Only axes in `along`.
[[nodiscard]] Choice search(Variants& variants, Choice start,
                            const std::vector<std::size_t>& along);

}  // namespace paceline::advise
