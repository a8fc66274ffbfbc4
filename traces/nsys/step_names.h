#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "traces/nsys/events.h"

namespace paceline::traces::nsys {

// Which ranges are steps, and which are of an optimizer, by how people name them.
//
// Steps are, the first of these that there is: ranges that PyTorch's profiler has named; a word for
// a step with a number behind it ("step 12", "iteration_12", "iter-12", "batch 12"); a range of
// only such a word that repeats ("train_step").
class StepNames {
 public:
  explicit StepNames(const Events& events);

  // The name that DeviceTrace has for a range with this name, if it is one of them; `number` is
  // that of the range among those.
  [[nodiscard]] std::optional<std::string> name_of(std::uint32_t name, std::uint64_t number) const;

 private:
  enum class Is : std::uint8_t { other, numbered, step, optimizer };
  std::vector<Is> is_;                  // by name
  std::vector<std::uint64_t> numbers_;  // of numbered ones
};

}  // namespace paceline::traces::nsys
