#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <simgrid/s4u.hpp>
#include <vector>

#include "models/topology/fabric.h"

namespace paceline::sim {

// A cluster's links inside the SimGrid engine, and flows on them.
//
// There may be one in a process, because there may be one engine (a second one goes on with the
// first one's clock). Bandwidth is shared max-min by SimGrid. Latency is waited for here, before a
// flow enters the engine: SimGrid weights flows that share a link by their latencies (CM02 as well
// as LV08), which would give an in-node flow several times the share of a network flow.
class FlowNetwork {
 public:
  // `on_arrival` is called with the tag of each flow that has arrived, at its simulated time, and
  // may send and schedule more.
  using OnArrival = std::function<void(void* tag)>;

  FlowNetwork(const topology::Cluster& cluster, OnArrival on_arrival);

  // What keeps flows between two ranks in the order of their sending: one at a time has bandwidth,
  // the latencies of those behind it pass meanwhile. Must outlive its flows.
  struct Flow;
  class Connection {
    friend FlowNetwork;
    std::deque<Flow*> flows_;  // in order; only the first may be under way
  };

  // Precondition: size above 0; ranks differ. Without a connection a flow waits for no other.
  void send(Rank from, Rank to, Bytes size, void* tag, Connection* connection);
  void at(Seconds time, std::function<void()> action);

  // Runs until nothing is left to do.
  void run();

  [[nodiscard]] static Seconds now() { return Seconds(simgrid::s4u::Engine::get_clock()); }
  [[nodiscard]] std::uint64_t flows() const { return flows_; }
  [[nodiscard]] std::uint64_t solves() const { return solves_; }

 private:
  void build_platform();
  void pass_latency(Flow* flow);
  void start(Flow* flow);
  void arrived(Flow* flow);

  simgrid::s4u::Engine engine_;
  topology::Fabric fabric_;
  OnArrival on_arrival_;
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
  Bytes size;
  bool latency_passed;
  simgrid::s4u::CommPtr comm;
};

}  // namespace paceline::sim
