#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "models/run/step_trace.h"
#include "models/workload/workload.h"

namespace paceline {

// A network's tensors in the order in which their gradients are ready.
struct GradientsOfNetwork {
  std::string name;
  std::vector<ElementCount> counts;
};

[[nodiscard]] GradientsOfNetwork gradients_of(const workload::Network& network);

[[nodiscard]] std::size_t gradients_in(const StepTrace& trace);

// Gives every gradient the network's element count. Precondition: the same number of gradients.
void fill_gradients(const GradientsOfNetwork& network, StepTrace& trace);

// Fills in unknown element counts from a shipped network (models/workload/zoo) with as many
// tensors, which in reverse order of registration add up to exactly what each all-reduce has.
// Returns its name; nullopt where no network fits, and then changes nothing.
[[nodiscard]] std::optional<std::string> fill_gradients(StepTrace& trace);

// Names the shipped networks with so many gradients of so many bytes in fp32.
[[nodiscard]] std::vector<std::string> networks_with_gradients(std::size_t tensors, Bytes bytes);

}  // namespace paceline
