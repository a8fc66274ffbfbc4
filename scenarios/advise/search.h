#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "models/words.h"
#include "scenarios/loader/scenario_file.h"
#include "scenarios/predict/run_scenario.h"

namespace paceline::advise {

using Settings = std::vector<ScenarioFile::Setting>;

// What a change is about, and what else it changes.
enum class Option {
  bucket,
  strategy,
  collective,
  wire_type,
  accumulation,
  setting,  // of the strategy
  checkpoints,
  precision,
  batch,
};

constexpr auto words_of(Option) {
  return words_up_to<Option::batch>("bucket", "strategy", "collective", "gradients on the wire",
                                    "accumulation", "strategy's setting", "checkpoints",
                                    "precision", "batch");
}

// Whether training computes something else with it: numbers are rounded, or batches larger.
[[nodiscard]] bool alters_training(Option option);

struct Candidate {
  Option option{};
  Settings settings;  // empty: as it is
};

// Alternatives that a search tries one axis at a time. The first is the scenario as it is.
using SearchAxis = std::vector<Candidate>;

// Which strategies are tried beside the scenario's.
enum class Strategies { framework, all };

constexpr auto words_of(Strategies) { return words_up_to<Strategies::all>("framework", "all"); }

// Each axis holds the values that are tried of one thing: buckets of this and of other strategies,
// algorithms of the library, gradients of 16 bits and other precisions, accumulation; then one axis
// for each setting of the strategy, for checkpoints and for batches. Values that the scenario has
// already are left out.
[[nodiscard]] std::vector<SearchAxis> options_of(const Scenario& scenario,
                                                 Strategies strategies = Strategies::framework);

// A candidate of each search axis, by index.
using Choice = std::vector<std::size_t>;

// Predictions of one point of a scenario with other settings, each made once.
class Variants {
 public:
  // `start` are the settings of the point.
  Variants(std::string path, Settings start, std::vector<SearchAxis> axes, RunOptions options);

  [[nodiscard]] const std::vector<SearchAxis>& axes() const { return axes_; }
  [[nodiscard]] Settings settings_of(const Choice& choice) const;  // beyond those of the point
  [[nodiscard]] Choice as_it_is() const { return Choice(axes_.size(), 0); }

  // Takes what is known already of the scenario as it is.
  void take_as_it_is(Attempt made);
  // Predicts those that are not, several at once. Settings that the scenario cannot take, and steps
  // that do not fit their GPU, are refused before anything is simulated. `later`: how many more
  // will be asked for at most, for progress. Throws BackendError, and Stopped; what was done by
  // then is kept.
  void predict(const std::vector<Choice>& choices, std::size_t later = 0);

  // Null: not predicted.
  [[nodiscard]] const Attempt* find(const Choice& choice) const;
  // Samples a second; 0 of what is refused, or was not predicted.
  [[nodiscard]] double throughput_of(const Choice& choice) const;
  [[nodiscard]] const std::map<Choice, Attempt>& all() const { return known_; }

 private:
  [[nodiscard]] Attempt predicted(const Choice& choice) const;
  void tell(std::size_t all) const;

  std::string path_;
  Settings start_;
  std::vector<SearchAxis> axes_;
  RunOptions options_;
  std::map<Choice, Attempt> known_;
  std::mutex mutex_;  // of that, while several are predicted
};

// The best choice along one axis after the other from `start`, until nothing changes any more. The
// four best are gone on with, as what is best along one axis may be in the way along another; of
// equal ones the first alone, so that nothing is changed for nothing. Only axes in `along`.
[[nodiscard]] Choice search(Variants& variants, Choice start,
                            const std::vector<std::size_t>& along);

}  // namespace paceline::advise
