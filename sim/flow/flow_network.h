#pragma once

#include <cstdint>
#include <deque>
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
class FlowNetwork final : public sim::Network {
 public:
  // `on_arrival` is called with the tag of each flow that has arrived, at its simulated time, and
  // may send and schedule more.
  using OnArrival = std::function<void(void* tag)>;

  FlowNetwork(const topology::Cluster& cluster, OnArrival on_arrival);

  // The way between two endpoints, which differ.
  [[nodiscard]] sim::PathId path(Rank from, Rank to, const topology::Wire& wire = {});

  [[nodiscard]] Seconds now() const override { return Seconds(simgrid::s4u::Engine::get_clock()); }
  void at(Seconds time, std::function<void()> action) override;
  void send(sim::PathId path, double bytes, Seconds extra, void* tag,
            Connection* connection) override;
  [[nodiscard]] const topology::MessageTiming& timing(sim::PathId path) const override {
    return paths_[path].timing;
  }
  void hand_back_after(Seconds delay, void* tag) override;

  // Runs until nothing is left to do.
  void run();

  [[nodiscard]] const topology::Fabric& fabric() const { return fabric_; }
  [[nodiscard]] std::uint64_t flows() const { return flows_; }
  [[nodiscard]] std::uint64_t solves() const { return solves_; }

 private:
  struct Flow;

  void build_platform();
  void pass_latency(Flow* flow);
  void start(Flow* flow);
  void arrived(Flow* flow);

  std::unique_ptr<simgrid::s4u::Engine> engine_;
  topology::Fabric fabric_;
  OnArrival on_arrival_;
  std::vector<topology::Path> paths_;
  std::vector<simgrid::s4u::Host*> out_hosts_, in_hosts_;  // one a port
  std::deque<Flow> pool_;                                  // addresses stay
  std::vector<Flow*> free_;
  std::vector<simgrid::s4u::CommPtr> finished_;  // see arrived()
  std::uint64_t flows_ = 0, solves_ = 0;
};

struct FlowNetwork::Flow {
  FlowNetwork* network;
  void* tag;
  Connection* connection;
  topology::Path path;
  double bytes;
  bool latency_passed;
  simgrid::s4u::CommPtr comm;
};

}  // namespace paceline::sim
