#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "traces/topology/node_topology.h"

// The lines of a matrix of `nvidia-smi topo`, also where tabs between its columns are lost.
namespace paceline::traces {

struct MatrixName {
  std::string text;
  std::size_t column = 0;  // in the line, from 1
};

// The names of columns; behind those of devices stand affinities.
struct MatrixHeader {
  std::vector<MatrixName> names;
  bool has_numa = false;  // the second affinity is that of NUMA nodes
};

using MatrixNames = std::set<std::string, std::less<>>;

struct MatrixEntry {
  bool is_self = false;
  std::uint32_t links = 0;
  std::optional<PciePath> path;
  std::optional<bool> peer;  // of `topo -p2p`: whether the pair has it

  friend bool operator==(const MatrixEntry&, const MatrixEntry&) = default;
};

struct MatrixCell {
  MatrixEntry entry;
  std::size_t column = 0;
};

struct MatrixRow {
  std::size_t line = 0;
  MatrixName name;
  std::vector<MatrixCell> cells;
  std::vector<std::string> affinities;  // of CPUs, of NUMA nodes, and more
  // Where the last cell is glued to the affinity: how many links it may have, with which affinity.
  std::vector<std::pair<std::uint32_t, std::string>> endings;
  std::optional<MatrixName> strange;  // what follows the cells, and is no affinity
};

[[nodiscard]] bool is_gpu_name(std::string_view word);

// Names of GPUs first, then of NICs; nullopt for a line that is none of these.
[[nodiscard]] std::optional<MatrixHeader> header_in(std::string_view line);

// A line of one of these names and at least one entry; without names of any name that GPUs and NICs
// have, and at least two entries. Else nullopt.
[[nodiscard]] std::optional<MatrixRow> row_in(std::string_view line, const MatrixNames& names);

}  // namespace paceline::traces
