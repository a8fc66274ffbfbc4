#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/run/resolved_point.h"
#include "models/units/units.h"
#include "scenarios/errors.h"
#include "scenarios/outcome/point_outcome.h"
#include "scenarios/process/line_process.h"
#include "traces/json/protocol.h"

namespace paceline {

// That paceline-worker starts on one machine at most.
inline constexpr std::uint32_t ranks_of_one_machine = 4096;
// Throws InputError, at the place that asks for them.
void refuse_more_than_start_here(std::uint32_t ranks, const Location& where);

// What points have in common that the same processes measure.
struct RankGroup {
  std::string backend;
  std::uint32_t ranks;  // those of servers included
  Seconds timeout;      // of every wait of one for another

  friend auto operator<=>(const RankGroup&, const RankGroup&) = default;
};

// A point's outcome. Without a reply the group's ranks are lost: `lost` says why, `steps` how far.
struct Measured {
  std::optional<traces::Reply> reply;
  std::vector<Seconds> steps;
  std::optional<PointFailure> lost = std::nullopt;
};

// The ranks of a group, each a paceline-worker, which end with it; this process speaks with rank 0.
class WorkerRanks {
 public:
  // Whether this process starts all of them, on this machine, or a launcher the others.
  enum class Start { here, by_launcher };

  // `told` is what all ranks were told alike, where a launcher starts them. Throws BackendError
  // when paceline-worker cannot be started.
  WorkerRanks(const RankGroup& group, Start start, const std::string& told = "");

  [[nodiscard]] const RankGroup& group() const { return group_; }
  // `asked` is where the point comes from; `tell_steps` may be empty, and is called with the number
  // of steps done. Throws InputError when the worker says that it cannot be measured at all.
  [[nodiscard]] Measured measure(const ResolvedPoint& point, const Location& asked,
                                 const std::function<void(std::size_t)>& tell_steps);

 private:
  // Adds the steps that were reported meanwhile.
  std::optional<std::string> reply_to(const ResolvedPoint& point, std::vector<Seconds>& steps,
                                      const std::function<void(std::size_t)>& tell_steps);

  RankGroup group_;
  LineProcess worker_;
};
using WorkerRanksPtr = std::unique_ptr<WorkerRanks>;

// For all ranks that are started from here on: the file of a secret that they share.
// Throws InputError when it cannot be read, or is an output of this command.
void share_secret(const std::string& path);
// Throws InputError for a secret where this command starts its ranks itself. Empty: none.
void refuse_secret_of_own_ranks(const std::string& path);

// The ranks of a launcher that started this command in every process (torchrun, mpirun, srun); none
// without one. `group_of` says what a number of ranks measure; it may throw. `task`: what this
// process was asked, a text per name with none of " =#"; where ranks differ all end with code 2.
//
// Other ranks become a paceline-worker and do not return. To be called early: they wait for rank 0.
//
// Throws InputError when the launcher's variables contradict each other, BackendError when
// paceline-worker cannot be started.
using Task = std::vector<std::pair<std::string, std::string>>;
[[nodiscard]] WorkerRanksPtr join_launcher(
    const std::function<RankGroup(std::uint32_t ranks)>& group_of, const Task& task);

// Ends a launcher's other ranks with `line` and exit code 2. Takes at most as long as ranks have to
// meet; does nothing once join_launcher has begun.
void tell_launched_ranks(const std::string& line) noexcept;

}  // namespace paceline
