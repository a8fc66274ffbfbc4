#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "models/units/units.h"

namespace paceline::real {

// The value of a variable; nullopt where it is not set. A test passes one of its own.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

// The environment of this process. A variable that is set to nothing counts as not set.
[[nodiscard]] std::optional<std::string> process_environment(const std::string& name);

// Who this process is among the ranks of its job, as its launcher says.
struct RankIdentity {
  Rank rank;
  RankCount world_size;
  std::uint32_t local_rank = 0;  // among the ranks of its machine
  std::uint32_t local_size = 1;
  std::string launcher;  // torchrun, Open MPI or Slurm
  // What this rank was told to do, as all must be: words NAME=VALUE, or NAME#HASH of hidden values.
  std::string told = {};
  // Why this rank takes no part, where what it was told cannot be done: all others end with it.
  std::string fault = {};
};

// torchrun's variables win over Open MPI's, those over Slurm's: scripts set the first inside the
// others. nullopt when none is set. The local size is 0 where it is unknown (SLURM_NTASKS_PER_NODE
// is optional). Throws UsageError naming variable and value: no number, one of a pair alone, a rank
// out of range.
[[nodiscard]] std::optional<RankIdentity> find_rank_identity(const Environment& environment);

}  // namespace paceline::real
