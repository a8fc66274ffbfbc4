#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "traces/nsys/events.h"

namespace paceline::traces::nsys {

// Which ranges are steps, and which are of an optimizer, by how people name them. Steps are, the
// first that there is: ranges named by PyTorch's profiler; a word for a step and a number ("step
// 12", "iteration_12", "iter-12", "batch 12"); only such a word, repeated ("train_step").
class StepNames {
 public:
  explicit StepNames(const Events& events);

  // What DeviceTrace calls a range of this name, number `number` of these, if it is one of them.
  [[nodiscard]] std::optional<std::string> name_of(std::uint32_t name, std::uint64_t number) const;

 private:
  enum class Is : std::uint8_t { other, numbered, step, optimizer };
  std::vector<Is> is_;                  // by name
  std::vector<std::uint64_t> numbers_;  // of numbered ones
};

}  // namespace paceline::traces::nsys
