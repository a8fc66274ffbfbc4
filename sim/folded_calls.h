#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "models/run/resolved_point.h"
#include "models/topology/fabric.h"
#include "models/training/call_plan.h"
#include "sim/call_table.h"
#include "sim/folded_network.h"
#include "sim/symmetry.h"

namespace paceline::sim {

// How chunks are taken whose sizes differ because the ranks do not divide the count.
enum class Chunks {
  exact,  // to the element
  even,   // all of a round alike: the mean
};

// Thrown where a point cannot be folded; says why.
struct NotFolded : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class AlikeSizes;

// The calls of a point as its symmetry classes carry them out.
class FoldedCalls {
 public:
  // Those calls of the point's program that `takes_part` says. Throws NotFolded.
  FoldedCalls(const ResolvedPoint& point, Chunks chunks,
              const std::function<bool(const training::CollectiveCall&)>& takes_part);

  [[nodiscard]] const std::map<training::CollectiveCall, CallTable>& tables() const {
    return tables_;
  }
  [[nodiscard]] const Symmetry& symmetry() const { return symmetry_; }
  [[nodiscard]] const std::vector<FoldedPath>& paths() const { return paths_; }
  // By how much the size of a transfer may differ from the one taken, as a part of it; 0 if exact.
  [[nodiscard]] double unevenness() const { return unevenness_; }

 private:
  using Call = training::CollectiveCall;

  void find_symmetry_of(const std::map<Call, collectives::Plan>& plans);
  CallTable folded(const Call& call, const collectives::Plan& plan);
  void add_transfers(const collectives::Sends& sends, std::uint32_t from, ElementSize element,
                     const AlikeSizes& sizes, std::vector<PlannedTransfer>& transfers);
  [[nodiscard]] std::vector<std::uint32_t> link_classes_of(const topology::Path& path) const;
  PathId path_of(FoldedPath path);

  const ResolvedPoint& point_;
  Chunks chunks_;
  topology::Fabric fabric_;
  Symmetry symmetry_;
  std::vector<FoldedPath> paths_;
  std::map<FoldedPath, PathId> path_ids_;
  std::map<Call, CallTable> tables_;
  double unevenness_ = 0;
};

}  // namespace paceline::sim
