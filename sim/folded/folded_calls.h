#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "models/run/resolved_point.h"
#include "models/topology/fabric.h"
#include "models/training/call_plan.h"
#include "sim/folded/call_table.h"
#include "sim/folded/folded_network.h"
#include "sim/folded/symmetry.h"

namespace paceline::sim {

// How to size the chunks of a round where the ranks do not divide the count.
enum class Chunks {
  exact,  // to the element
  even,   // all at their mean
};

// Thrown when a point cannot be folded; says why.
struct NotFolded : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// On which links the slowest transfers of a call share bandwidth with others.
enum class SharedPace {
  nowhere,
  ports,  // those of a GPU or a node, with transfers of the same call
  core,   // those between leaf switches, also with other nodes' transfers
};

class AlikeSizes;

// Plans with the same structure differ in sizes only (see collectives::Round).
using Structure =
    std::tuple<collectives::Collective, training::Group, std::string, collectives::AlgorithmOptions,
               topology::Wire, Rank, std::vector<std::uint64_t>, ElementCount, ElementSize>;

// The actors of one job: those of ranks first, then those of servers and switches.
struct JobActors {
  std::vector<std::vector<Rank>> members;  // by actor: endpoints of the job's plans, ascending
  std::vector<Actor> actor_of;             // by endpoint
  Actor rank_actors = 0;
};

// Writes the calls of a point out as tables for its actors.
class FoldedCalls {
 public:
  using Tables = std::map<training::CollectiveCall, CallTable>;

  // Takes the calls for which `takes_part` returns true. Throws NotFolded.
  FoldedCalls(const ResolvedPoint& point, Chunks chunks,
              const std::function<bool(const training::CollectiveCall&)>& takes_part);

  // By job.
  [[nodiscard]] const std::vector<Tables>& tables() const { return tables_; }
  [[nodiscard]] const std::vector<JobActors>& actors() const { return actors_; }
  [[nodiscard]] const std::vector<FoldedPath>& paths() const { return paths_; }
  [[nodiscard]] const std::vector<LinkClass>& links() const { return symmetry_.links; }
  // How much longer than simulated a transfer may take, as a part of its time; 0 if exact.
  [[nodiscard]] double unevenness() const { return unevenness_; }
  // Says where the slowest transfers share links in rounds of many repeats. Even chunks stay in
  // step there; others drift apart, and hide latencies behind bytes.
  [[nodiscard]] SharedPace shared_pace() const;

 private:
  using Call = training::CollectiveCall;
  using Calls = std::set<Call>;  // each once

  // A channel of a call of one job.
  struct FoldedChannel {
    std::vector<Actor> actor_of;  // by part
    // Endpoints of the plan, by part: the first and the last of its class in this channel.
    std::vector<std::uint32_t> first_members, last_members;
    std::vector<std::uint64_t> members;  // by part: of its class, in all channels
    std::vector<Part> part_of;           // by endpoint that sends or receives
  };

  // Plans are made where they are used and not kept: many sizes would fill the memory.
  [[nodiscard]] Symmetry symmetry_of(const Calls& calls, const training::Planner& planner);
  [[nodiscard]] std::vector<std::uint64_t> colours() const;
  void number_actors(RankCount endpoints);
  CallTable folded(std::size_t job, const Call& call, const collectives::Plan& plan);
  [[nodiscard]] FoldedChannel folded_channel(std::size_t job, std::uint32_t channel,
                                             RankCount endpoints) const;
  [[nodiscard]] AlikeSizes sizes_of(const collectives::Plan& plan,
                                    const std::vector<FoldedChannel>& channels) const;
  void add_transfers(std::size_t job, const FoldedChannel& channel, Part from,
                     const collectives::Sends& sends, const collectives::Round* before,
                     const Call& call, const AlikeSizes& sizes,
                     std::vector<PlannedTransfer>& transfers);
  [[nodiscard]] SharedPace shared_pace(const CallTable& table, std::size_t shape) const;
  void count_unevenness(PathId path, double elements, double largest, double element);
  [[nodiscard]] std::vector<std::uint32_t> link_classes_of(const topology::Path& path) const;
  PathId path_of(FoldedPath path);

  const ResolvedPoint& point_;
  Chunks chunks_;
  std::vector<Job> jobs_;
  topology::Fabric fabric_;
  Symmetry symmetry_;
  std::vector<bool> is_of_the_core_;                   // by link class
  std::map<Structure, std::uint32_t> first_channels_;  // of the first job; others' follow
  std::vector<JobActors> actors_;
  std::vector<FoldedPath> paths_;
  std::map<FoldedPath, PathId> path_ids_;
  std::vector<Tables> tables_;
  double unevenness_ = 0;
};

}  // namespace paceline::sim
