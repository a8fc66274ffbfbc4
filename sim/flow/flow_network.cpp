#include "sim/flow/flow_network.h"

#include <algorithm>
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
    flow->network->ended(flow);
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
  flow->number = flows_++;
  if (connection != nullptr) connection->flows.push_back(flow);
  const topology::MessageTiming& timing = flow->path.timing;
  const Seconds latency = timing.latency_of(bytes) - timing.latency_after() + extra;
  if (latency > Seconds(0)) {
    at(now() + latency, [this, flow] { pass_latency(flow); });
  } else {
    pass_latency(flow);
  }
}

void FlowNetwork::pass_latency(Flow* flow) {
  flow->latency_passed = true;
  if (flow->connection == nullptr || flow->connection->flows.front() == flow) start(flow);
}

void FlowNetwork::at(Seconds time, std::function<void()> action) {
  const auto next = timers_.lower_bound({time.value(), 0});
  const bool is_new = next == timers_.end() || next->first.first != time.value();
  timers_.emplace_hint(next, std::pair(time.value(), timers_made_++), std::move(action));
  if (is_new) simgrid::kernel::timer::Timer::set(time.value(), [this] { happen(); });
}

// SimGrid has no order among timers of one date, nor among flows.
void FlowNetwork::happen() {
  std::map<std::uint64_t, std::function<void()>> due;
  while (!timers_.empty() && timers_.begin()->first.first <= now().value() + simultaneous_s) {
    const auto timer = timers_.extract(timers_.begin());
    due.emplace(timer.key().second, std::move(timer.mapped()));
  }
  for (const auto& [number, action] : due) action();
  std::vector<Flow*> ended = std::exchange(ended_, {});
  std::ranges::sort(ended, {}, &Flow::number);
  for (Flow* flow : ended) arrived(flow);
}

void FlowNetwork::ended(Flow* flow) {
  if (ended_.empty()) simgrid::kernel::timer::Timer::set(now().value(), [this] { happen(); });
  ended_.push_back(flow);
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
  flow->comm = nullptr;
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
