#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>

#include "models/cost/ring_parts.h"
#include "models/topology/cluster.h"
#include "scenarios/loader/document/reader.h"

namespace paceline {

// What a description of the machine adds to its logs.
struct CalibratedMachine {
  std::string cluster;  // the preset or file that it came from
  cost::RingParts rings;
};

// One sentence's end on ranks of a node that a description does not have, as of a log: "has 9 ranks
// a node, and dgx1-v100 8". nullopt where it has them, and where nothing is described.
[[nodiscard]] std::optional<std::string> fault_of(const std::optional<CalibratedMachine>& machine,
                                                  std::uint32_t ranks_per_node);

// The section `machine:` of a calibration; nothing without one.
void write_machine(std::ostream& out, const std::optional<CalibratedMachine>& machine);
[[nodiscard]] std::optional<CalibratedMachine> read_machine(loader::Reader& calibration);

}  // namespace paceline
