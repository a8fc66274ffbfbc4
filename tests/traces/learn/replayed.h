#pragma once

#include <cstdint>
#include <utility>

#include "sim/folded/predicted_point.h"

namespace paceline::traces {

// On one node, where calls of known times cross no links.
inline double replayed_us(const training::StepProgram& program, std::uint32_t ranks) {
  ResolvedPoint point;
  point.fidelity = Fidelity::folded;
  point.cluster.gpus_per_node = ranks;
  point.cluster.intra_node.bandwidth = BytesPerSecond(1e9);
  point.program = program;
  return sim::predict_folded(std::move(point)).totals.step.value() * 1e6;
}

}  // namespace paceline::traces
