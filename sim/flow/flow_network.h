#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <simgrid/s4u.hpp>
#include <vector>

#include "models/topology/fabric.h"
#include "sim/folded/network.h"

namespace paceline::sim {

// A cluster's links inside the SimGrid engine, and flows on them.
//
// There may be one in a process, because there may be one engine (a second one goes on with the
// first one's clock). Bandwidth is shared max-min by SimGrid. Latency is waited for here, before a
// flow enters the engine: SimGrid weights flows that share a link by their latencies (CM02 as well
// as LV08), which would give an in-node flow several times the share of a network flow.
class FlowNetwork final : public Network {
 public:
  FlowNetwork(const topology::Cluster& cluster, std::function<void(void* tag)> on_arrival);

  // The way between two endpoints, which differ.
  [[nodiscard]] PathId path(Rank from, Rank to, const topology::Wire& wire = {});
  [[nodiscard]] const topology::MessageTiming& timing(PathId path) const override {
    return paths_[path].timing;
  }

  // Runs until nothing is left to do.
  void run();

  [[nodiscard]] const topology::Fabric& fabric() const { return fabric_; }

 private:
  void build_platform();
  void move(Flow* flow) override;
  void wake();
  void wake_at_next_event();

  std::unique_ptr<simgrid::s4u::Engine> engine_;
  topology::Fabric fabric_;
  std::vector<topology::Path> paths_;
  std::vector<simgrid::s4u::Host*> out_hosts_, in_hosts_;  // one a port
  std::vector<simgrid::s4u::ActivityPtr> ended_now_;
  double wakes_at_ = never;
};

}  // namespace paceline::sim
