#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "scenarios/advise/options.h"
#include "scenarios/predict/attempt.h"

namespace paceline::advise {

// A candidate of each search axis, by index.
using Choice = std::vector<std::size_t>;

// Predictions of one point of a scenario with other settings, each made once.
class Variants {
 public:
  // `start` are the settings of the point. Throws InputError and BackendError.
  Variants(std::string path, Settings start, std::vector<SearchAxis> axes, RunOptions options);

  [[nodiscard]] const std::vector<SearchAxis>& axes() const { return axes_; }
  [[nodiscard]] Settings settings_of(const Choice& choice) const;  // beyond those of the point

  // What the scenario cannot take with other settings is refused, for whatever reason. Throws
  // BackendError and Stopped.
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
