#pragma once

#include <array>
#include <iosfwd>
#include <vector>

#include "models/cost/nccl_tuning.h"

namespace paceline {

// In the order of NCCL's table.
inline constexpr std::array nccl_collectives{
    collectives::Collective::broadcast, collectives::Collective::reduce,
    collectives::Collective::all_gather, collectives::Collective::reduce_scatter,
    collectives::Collective::all_reduce};

// What NCCL's model of a group of ranks says of a collective.
struct NcclChoices {
  struct Row {
    Bytes size;
    cost::nccl::Choice choice;
  };

  cost::nccl::Tuning tuning;
  collectives::Collective collective;
  std::vector<Row> rows;
};

void write_text(std::ostream& out, const NcclChoices& choices);

// paceline.nccl/1
void write_json(std::ostream& out, const NcclChoices& choices);

// For NCCL's example tuner plugin (ext-tuner/example of NVIDIA/nccl).
void write_tuner(std::ostream& out, const NcclChoices& choices);

}  // namespace paceline
