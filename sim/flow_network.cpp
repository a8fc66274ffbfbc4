#include "sim/flow_network.h"

#include <xbt/log.h>

#include <simgrid/kernel/Timer.hpp>
#include <string>
#include <utility>

namespace paceline::sim {
namespace {

namespace s4u = simgrid::s4u;

// SimGrid's defaults model TCP on gigabit Ethernet of 2011 (latency x13.01, bandwidth x0.97, a
// window of 4 MiB, 5 % for acknowledgements); none of that is wanted under links whose efficiency
// and framing are given. The precisions are absolute, in seconds and in bytes/s of share.
void configure_engine() {
  xbt_log_control_set("xbt_cfg.thresh:warning");  // do not announce what follows
  s4u::Engine::set_config("network/model:CM02");
  s4u::Engine::set_config("network/TCP-gamma:0");
  s4u::Engine::set_config("network/crosstraffic:0");
  s4u::Engine::set_config("surf/precision:1e-12");
  s4u::Engine::set_config("maxmin/precision:1e-9");
}

}  // namespace

FlowNetwork::FlowNetwork(const topology::Cluster& cluster, OnArrival on_arrival)
    : engine_("paceline-sim"), fabric_(cluster), on_arrival_(std::move(on_arrival)) {
  configure_engine();
  build_platform();
  s4u::Activity::on_completion_cb([](const s4u::Activity& activity) {
    // The signal hands out const activities; get_data only reads the pointer.
    auto* flow = const_cast<s4u::Activity&>(activity).get_data<Flow>();
    flow->network->arrived(flow);
  });
  s4u::Engine::on_time_advance_cb([this](double) { ++solves_; });
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
    for (std::uint32_t i = 0; i < port.link_count; ++i) route.emplace_back(links[port.links[i]]);
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

void FlowNetwork::send(Rank from, Rank to, Bytes size, void* tag, Connection* connection) {
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
  flow->path = fabric_.path(from, to);
  flow->size = size;
  flow->latency_passed = false;
  if (connection != nullptr) connection->flows_.push_back(flow);
  ++flows_;
  if (flow->path.latency > Seconds(0)) {
    at(now() + flow->path.latency, [this, flow] { pass_latency(flow); });
  } else {
    pass_latency(flow);
  }
}

// Timers of one date run in no particular order, so this may come for a later flow of a connection
// before it comes for an earlier one.
void FlowNetwork::pass_latency(Flow* flow) {
  flow->latency_passed = true;
  if (flow->connection == nullptr || flow->connection->flows_.front() == flow) start(flow);
}

void FlowNetwork::at(Seconds time, std::function<void()> action) {
  simgrid::kernel::timer::Timer::set(time.value(), std::move(action));
}

void FlowNetwork::start(Flow* flow) {
  flow->comm = s4u::Comm::sendto_init();
  flow->comm->set_payload_size(flow->size.value());
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
    connection->flows_.pop_front();
    if (!connection->flows_.empty() && connection->flows_.front()->latency_passed) {
      start(connection->flows_.front());
    }
  }
  void* tag = flow->tag;
  free_.push_back(flow);
  on_arrival_(tag);
}

void FlowNetwork::run() { engine_.run(); }

}  // namespace paceline::sim
