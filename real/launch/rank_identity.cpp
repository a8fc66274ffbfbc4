#include "real/launch/rank_identity.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <cstdlib>

#include "models/text/number.h"
#include "real/errors.h"

namespace paceline::real {
namespace {

struct Launcher {
  const char* name;
  const char* rank;
  const char* size;
  const char* older_size;  // Slurm's earlier name for it
  const char* local_rank;
  const char* local_size;
};

constexpr std::array<Launcher, 3> launchers{{
    {"torchrun", "RANK", "WORLD_SIZE", nullptr, "LOCAL_RANK", "LOCAL_WORLD_SIZE"},
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", nullptr,
     "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_NPROCS", "SLURM_LOCALID",
     "SLURM_NTASKS_PER_NODE"},
}};

std::optional<std::uint32_t> find_number(const Environment& environment, const char* name) {
  const auto text = environment(name);
  if (!text) return std::nullopt;
  if (const auto value = number_of<std::uint32_t>(*text)) return value;
  throw UsageError(fmt::format("{}={} is not a whole number; launchers count ranks from 0: {}=0",
                               name, *text, name));
}

void check_rank(const char* rank_name, std::uint32_t rank, const char* size_name,
                std::uint32_t size) {
  if (size == 0) {
    throw UsageError(
        fmt::format("{}=0 leaves no rank; set it to the number of processes", size_name));
  }
  if (rank < size) return;
  throw UsageError(
      fmt::format("{}={} of {}={} is no rank: they go from 0 to {}; set {} anew for every process",
                  rank_name, rank, size_name, size, size - 1, rank_name));
}

std::optional<RankIdentity> identity_of(const Environment& environment, const Launcher& launcher) {
  const bool is_slurm = launcher.older_size != nullptr;
  const bool is_older = is_slurm && !environment(launcher.size);
  const char* const size_name = is_older ? launcher.older_size : launcher.size;
  const auto rank = find_number(environment, launcher.rank);
  const auto size = find_number(environment, size_name);
  // A batch script of Slurm has a number of tasks and is no task itself.
  if (!rank && (!size || is_slurm)) return std::nullopt;
  if (!rank || !size) {
    const char* const set = rank ? launcher.rank : size_name;
    throw UsageError(fmt::format("{}={} is set, {} is not; set both, or neither", set,
                                 rank ? *rank : *size, rank ? launcher.size : launcher.rank));
  }
  check_rank(launcher.rank, *rank, size_name, *size);
  const auto local_rank = find_number(environment, launcher.local_rank);
  const auto local_size = find_number(environment, launcher.local_size);
  // Slurm's tasks per node are what was asked for, which a node may exceed.
  if (local_rank && local_size && !is_slurm) {
    check_rank(launcher.local_rank, *local_rank, launcher.local_size, *local_size);
  }
  return RankIdentity{Rank(*rank), RankCount(*size), local_rank.value_or(0), local_size.value_or(0),
                      launcher.name};
}

}  // namespace

std::optional<std::string> process_environment(const std::string& name) {
  const char* const value = std::getenv(name.c_str());
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

std::optional<RankIdentity> find_rank_identity(const Environment& environment) {
  for (const Launcher& launcher : launchers) {
    if (auto identity = identity_of(environment, launcher)) return identity;
  }
  return std::nullopt;
}

}  // namespace paceline::real
