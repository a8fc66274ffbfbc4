#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/run/resolved_point.h"
#include "models/units/units.h"
#include "scenarios/errors.h"
#include "scenarios/run/line_process.h"
#include "traces/json/protocol.h"

namespace paceline {

// What points have in common that the same processes measure.
struct RankGroup {
  std::string backend;
  std::uint32_t ranks;  // those of servers included
  Seconds timeout;      // of every wait of one for another

  friend auto operator<=>(const RankGroup&, const RankGroup&) = default;
};

// What became of a point. Without a reply ranks were lost, with all of this group: `lost` says why
// in one line, and `steps` has those that were done by then.
struct Measured {
  std::optional<traces::Reply> reply;
  std::vector<Seconds> steps;
  std::string lost;
  bool was_stopped = false;  // by a StopRequest: `lost` says so
};

// The ranks of a group, each a paceline-worker; this process speaks with the one of rank 0. They
// end with it.
class WorkerRanks {
 public:
  // Whether this process starts all of them, on this machine, or a launcher the others.
  enum class Start { here, by_launcher };

  // Throws BackendError when paceline-worker cannot be started.
  WorkerRanks(const RankGroup& group, Start start);

  [[nodiscard]] const RankGroup& group() const { return group_; }
  // `asked` is where the point comes from. Throws InputError when the worker says that it cannot
  // be measured at all.
  [[nodiscard]] Measured measure(const ResolvedPoint& point, const Location& asked);

 private:
  // Adds the steps that were reported meanwhile.
  std::optional<std::string> reply_to(const ResolvedPoint& point, std::vector<Seconds>& steps);

  RankGroup group_;
  LineProcess worker_;
};
using WorkerRanksPtr = std::unique_ptr<WorkerRanks>;

// The ranks of a launcher that started this command in every process (torchrun, mpirun, srun).
// `group_of` says for a number of ranks what they measure; it may throw.
//
// Nothing where this process is not one of several of a launcher's. Ranks other than 0 become a
// paceline-worker and do not return. To be called before anything takes long: they wait for rank 0.
//
// Throws InputError when the launcher's variables contradict each other, BackendError when
// paceline-worker cannot be started.
[[nodiscard]] WorkerRanksPtr join_launcher(
    const std::function<RankGroup(std::uint32_t ranks)>& group_of);

}  // namespace paceline
