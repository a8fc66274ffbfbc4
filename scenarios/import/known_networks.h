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

// Gives every gradient the elements that the network has. Precondition: as many.
void fill_gradients(const GradientsOfNetwork& network, StepTrace& trace);

// Gives gradients that lack their elements those of a shipped network (models/workload/zoo): of one
// that has as many tensors, which in the reverse order of registration add up, between one
// all-reduce and the next, to exactly what the all-reduce has. Returns its name, or nullopt
// and changes nothing when no network fits.
[[nodiscard]] std::optional<std::string> fill_gradients(StepTrace& trace);

// Shipped networks with as many gradients, of as many bytes together in fp32, by name.
[[nodiscard]] std::vector<std::string> networks_with_gradients(std::size_t tensors, Bytes bytes);

}  // namespace paceline
