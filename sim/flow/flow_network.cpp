#include "sim/flow/flow_network.h"

#include <simgrid/kernel/Timer.hpp>
#include <string>
#include <utility>

#include "sim/flow/simgrid_settings.h"

namespace paceline::sim {

using sim::PathId;

namespace {

namespace s4u = simgrid::s4u;

}  // namespace

FlowNetwork::FlowNetwork(const topology::Cluster& cluster, OnArrival on_arrival)
    : engine_(make_engine()), fabric_(cluster), on_arrival_(std::move(on_arrival)) {
  build_platform();
  s4u::Activity::on_completion_cb([](const s4u::Activity& activity) {
    // The signal hands out const activities; get_data only reads the pointer.
    auto* flow = const_cast<s4u::Activity&>(activity).get_data<Flow>();
    flow->network->arrived(flow);
  });
}

// A star: each port is a host of its own whose only route are the port's links, so that a path is
// the links of one out port and one in port. Hosts are ends of routes here, they compute nothing.
void FlowNetwork::build_platform() {
  s4u::NetZone* star = s4u::create_star_zone("cluster");
  std::vector<s4u::Link*> links;
  for (const topology::Link& link : fabric_.links()) {
    links.push_back(
        star->create_link("link" + std::to_string(links.size()), link.bandwidth.value()));
  }
  const auto add_port = [&](const topology::Port& port, const std::string& name, bool out) {
    s4u::Host* host = star->create_host(name, 1.0);
    std::vector<s4u::LinkInRoute> route;
    for (const topology::LinkId link : fabric_.links_of(port)) route.emplace_back(links[link]);
    auto* point = host->get_netpoint();
    star->add_route(point, nullptr, nullptr, nullptr, out ? route : decltype(route){}, false);
    star->add_route(nullptr, point, nullptr, nullptr, out ? decltype(route){} : route, false);
    return host;
  };
  for (const topology::Port& port : fabric_.out_ports()) {
    out_hosts_.push_back(add_port(port, "out" + std::to_string(out_hosts_.size()), true));
  }
  for (const topology::Port& port : fabric_.in_ports()) {
    in_hosts_.push_back(add_port(port, "in" + std::to_string(in_hosts_.size()), false));
  }
  star->seal();
}

PathId FlowNetwork::path(Rank from, Rank to, const topology::Wire& wire) {
  paths_.push_back(fabric_.path(from, to, wire));
  return static_cast<PathId>(paths_.size() - 1);
}

void FlowNetwork::send(PathId path, double bytes, Seconds extra, void* tag,
                       Connection* connection) {
  Flow* flow = nullptr;
  if (free_.empty()) {
    flow = &pool_.emplace_back();
  } else {
    flow = free_.back();
    free_.pop_back();
  }
  flow->network = this;
  flow->tag = tag;
  flow->connection = connection;
  flow->path = paths_[path];
  flow->bytes = bytes;
  flow->latency_passed = false;
  if (connection != nullptr) connection->flows.push_back(flow);
  ++flows_;
  const topology::MessageTiming& timing = flow->path.timing;
  const Seconds latency = timing.latency_of(bytes) - timing.latency_after() + extra;
  if (latency > Seconds(0)) {
    at(now() + latency, [this, flow] { pass_latency(flow); });
  } else {
    pass_latency(flow);
  }
}

// Timers of one date run in no particular order, so this may come for a later flow of a connection
// before it comes for an earlier one.
void FlowNetwork::pass_latency(Flow* flow) {
  flow->latency_passed = true;
  if (flow->connection == nullptr || flow->connection->flows.front() == flow) start(flow);
}

void FlowNetwork::at(Seconds time, std::function<void()> action) {
  simgrid::kernel::timer::Timer::set(time.value(), std::move(action));
}

void FlowNetwork::hand_back_after(Seconds delay, void* tag) {
  at(now() + delay, [this, tag] { on_arrival_(tag); });
}

void FlowNetwork::start(Flow* flow) {
  flow->comm = s4u::Comm::sendto_init();
  flow->comm->set_payload_size(static_cast<std::uint64_t>(flow->bytes));
  flow->comm->set_data(flow);
  flow->comm->set_source(out_hosts_[flow->path.out]);
  // Assigning the destination completes the description, which starts the flow.
  flow->comm->set_destination(in_hosts_[flow->path.in]);
}

void FlowNetwork::arrived(Flow* flow) {
  // The engine still uses the activity whose completion it announces, so the last reference is
  // dropped at a later completion.
  finished_.clear();
  finished_.push_back(std::move(flow->comm));
  if (Connection* connection = flow->connection) {
    connection->flows.pop_front();
    if (!connection->flows.empty()) {
      auto* next = static_cast<Flow*>(connection->flows.front());
      if (next->latency_passed) start(next);
    }
  }
  void* tag = flow->tag;
  free_.push_back(flow);
  on_arrival_(tag);
}

void FlowNetwork::run() { engine_->run(); }

}  // namespace paceline::sim
