#include "real/launch/rank_identity.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>

#include "models/text/number.h"
#include "real/errors.h"

namespace paceline::real {
namespace {

struct Variable {
  std::string name;
  std::uint32_t value = 0;

  [[nodiscard]] std::string text() const { return fmt::format("{}={}", name, value); }
};

std::optional<Variable> find_number(const Environment& environment, const std::string& name) {
  const auto text = environment(name);
  if (!text) return std::nullopt;
  if (const auto value = number_of<std::uint32_t>(*text)) return Variable{name, *value};
  throw UsageError(fmt::format("{}={} is not a whole number; launchers count ranks from 0: {}=0",
                               name, *text, name));
}

struct Launcher {
  const char* name;
  const char* rank;
  std::array<const char*, 2> size;  // the first that is set
  const char* local_rank;
  const char* local_size;
};

constexpr std::array<Launcher, 3> launchers{{
    {"torchrun", "RANK", {"WORLD_SIZE", nullptr}, "LOCAL_RANK", "LOCAL_WORLD_SIZE"},
    {"Open MPI",
     "OMPI_COMM_WORLD_RANK",
     {"OMPI_COMM_WORLD_SIZE", nullptr},
     "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"Slurm",
     "SLURM_PROCID",
     {"SLURM_NTASKS", "SLURM_NPROCS"},
     "SLURM_LOCALID",
     "SLURM_NTASKS_PER_NODE"},
}};

std::optional<Variable> find_size(const Environment& environment, const Launcher& launcher) {
  for (const char* name : launcher.size) {
    if (name == nullptr) continue;
    if (auto size = find_number(environment, name)) return size;
  }
  return std::nullopt;
}

// A batch script of Slurm has a number of tasks and is no task itself.
bool is_batch_script(const Launcher& launcher) { return launcher.rank[0] == 'S'; }

void check_pair(const Launcher& launcher, const Variable& rank, const Variable& size) {
  if (size.value == 0) {
    throw UsageError(
        fmt::format("{} leaves no rank; set it to the number of processes", size.text()));
  }
  if (rank.value >= size.value) {
    throw UsageError(
        fmt::format("{} of {} is no rank: they go from 0 to {}; set {} anew for every "
                    "process",
                    rank.text(), size.text(), size.value - 1, launcher.rank));
  }
}

std::optional<RankIdentity> identity_of(const Environment& environment, const Launcher& launcher) {
  const auto rank = find_number(environment, launcher.rank);
  const auto size = find_size(environment, launcher);
  if (!rank && (!size || is_batch_script(launcher))) return std::nullopt;
  if (!rank) {
    throw UsageError(
        fmt::format("{} is set, {} is not; set both, or neither", size->text(), launcher.rank));
  }
  if (!size) {
    throw UsageError(
        fmt::format("{} is set, {} is not; set both, or neither", rank->text(), launcher.size[0]));
  }
  check_pair(launcher, *rank, *size);
  RankIdentity identity{Rank(rank->value), RankCount(size->value), 0, 0, launcher.name};
  const auto local_rank = find_number(environment, launcher.local_rank);
  const auto local_size = find_number(environment, launcher.local_size);
  if (local_rank) identity.local_rank = local_rank->value;
  if (local_size) identity.local_size = local_size->value;
  if (local_rank && local_size && local_rank->value >= local_size->value &&
      !is_batch_script(launcher)) {
    throw UsageError(fmt::format("{} of {} is no rank of this machine: they go from 0 to one less",
                                 local_rank->text(), local_size->text()));
  }
  return identity;
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
