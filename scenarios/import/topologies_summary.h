#pragma once

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "scenarios/import/import.h"

namespace paceline {

// Of each a line: GPUs, what joins them, NICs.
void write_topologies(std::ostream& out, const std::vector<Import::Topology>& topologies);

// Counts; of pairs of GPUs those that NVLinks join, and those of each path of PCIe.
[[nodiscard]] nlohmann::ordered_json json_of(const std::vector<Import::Topology>& topologies);

}  // namespace paceline
