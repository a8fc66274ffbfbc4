#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/uncertain/quantities.h"
#include "scenarios/capacity/finish.h"
#include "scenarios/loader/job/job.h"

namespace paceline::capacity {

// One way to run a job, which a prediction is made for.
struct Setup {
  std::size_t machine = 0;  // of the job's
  std::uint32_t nodes = 1;
  std::size_t strategy = 0;  // of the job's
  std::uint32_t batch = 1;   // of a GPU and pass
  std::uint32_t passes = 1;  // a step

  friend auto operator<=>(const Setup&, const Setup&) = default;
};

// The settings that complete the job's scenario, except its nodes.
[[nodiscard]] std::vector<ScenarioFile::Setting> settings_of(const PlannedJob& job,
                                                             const Setup& setup);
[[nodiscard]] std::uint32_t gpus_of(const PlannedJob& job, const Setup& setup);
[[nodiscard]] double samples_per_step(const PlannedJob& job, const Setup& setup);

// A setup that fits into its GPUs' memory, with a lower bound of its step.
struct Candidate {
  Setup setup;
  StepBound step_at_least = {};  // bounds.h
};

// A machine that no setup fits, and why.
struct LeftOut {
  std::size_t machine;
  std::string why;
};

struct MachineWords {
  std::string network_kind;        // "EFA", "RDMA", "TCP"; empty: its setups are of one node
  bool speed_is_modelled = false;  // nobody measured one GPU's
};

// A job's setups of a fixed grid, so that limits which allow more leave none of them out:
//   - nodes: 1 to 32, then in steps of a sixteenth of the power of two below; or the number that is
//     asked for exactly; of an exact global batch all whose GPUs divide it
//   - batches of a GPU: powers of two, those that one GPU's speed was measured with, and the one
//     that is asked for exactly
//   - passes: powers of two; of an exact global batch all that divide a GPU's part of it, up to
//     4,096
//   - every strategy with every bucket cap of the job
// A search may add what lies between them (search.h).
class OfHardware;
struct Grid {
  std::vector<Candidate> candidates;   // by machine, nodes, strategy, batch, passes
  std::vector<MachineWords> machines;  // by the job's number
  std::vector<LeftOut> left_out;
  std::vector<std::shared_ptr<OfHardware>> hardware;  // likewise; of equal machines the same

  // Of a setup that need not be in it; nullopt: the job does not allow it, or it does not fit.
  [[nodiscard]] std::optional<Candidate> candidate(const Setup& setup) const;
};

// The part of a GPU's memory that a step may take by models/training/memory.h. The rest is for what
// that leaves out: the CUDA context, NCCL's buffers, workspaces, fragmentation. A judgement.
inline constexpr double memory_used_at_most = 0.9;

// How many nodes are tried, ascending.
[[nodiscard]] std::vector<std::uint32_t> node_counts(std::uint32_t most);

// The job outlives it. Precondition: it has machines. Throws Stopped; InputError, the first, where
// nothing fits.
[[nodiscard]] Grid grid_of(const PlannedJob& job, const uncertain::Priors& priors);

}  // namespace paceline::capacity
