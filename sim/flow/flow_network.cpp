#include "sim/flow/flow_network.h"

#include <xbt/log.h>

#include <array>
#include <csignal>
#include <simgrid/kernel/Timer.hpp>
#include <string>
#include <utility>

namespace paceline::sim {

namespace {

namespace s4u = simgrid::s4u;
using s4u::Engine;
using simgrid::kernel::timer::Timer;

// An engine catches these, and writes about its actors; paceline says it in one line.
constexpr std::array caught{SIGINT, SIGSEGV, SIGABRT, SIGUSR1};

// Signals that come meanwhile wait until it does not.
std::unique_ptr<Engine> make_engine_that_catches_nothing() {
  sigset_t held{}, before{};
  sigemptyset(&held);
  for (const int one : caught) sigaddset(&held, one);
  ::sigprocmask(SIG_BLOCK, &held, &before);
  auto engine = std::make_unique<Engine>("paceline-sim");
  for (const int one : caught) std::signal(one, SIG_DFL);
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  return engine;
}

// The engine of this process, one at most, ready for a platform.
//
// SimGrid's defaults model TCP on gigabit Ethernet of 2011 (latency x13.01, bandwidth x0.97, a
// window of 4 MiB, 5 % for acknowledgements); none of that is wanted under links whose efficiency
// and framing are given. The precisions are absolute, in seconds and in bytes/s of share.
std::unique_ptr<Engine> make_engine() {
  auto engine = make_engine_that_catches_nothing();
  xbt_log_control_set("xbt_cfg.thresh:warning");  // do not announce what follows
  Engine::set_config("network/model:CM02");
  Engine::set_config("network/TCP-gamma:0");
  Engine::set_config("network/crosstraffic:0");
  Engine::set_config("surf/precision:1e-13");
  Engine::set_config("maxmin/precision:1e-9");
  return engine;
}

}  // namespace

FlowNetwork::FlowNetwork(const topology::Cluster& cluster,
                         std::function<void(void* tag)> on_arrival)
    : Network(std::move(on_arrival)), engine_(make_engine()), fabric_(cluster) {
  build_platform();
  s4u::Activity::on_completion_cb([this](const s4u::Activity& activity) {
    if (ended_now_.empty()) Timer::set(s4u::Engine::get_clock(), [this] { wake(); });
    // The signal hands out const activities; get_data only reads the pointer.
    auto& comm = const_cast<s4u::Activity&>(activity);
    ended_now_.emplace_back(&comm, false);  // the reference that move() left
    ended(comm.get_data<Flow>());
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

void FlowNetwork::move(Flow* flow) {
  auto comm = s4u::Comm::sendto_init();
  comm->set_payload_size(static_cast<std::uint64_t>(flow->left));
  comm->set_data(flow);
  comm->set_source(out_hosts_[paths_[flow->path].out]);
  // Assigning the destination completes the description, which starts the flow.
  comm->set_destination(in_hosts_[paths_[flow->path].in]);
  comm.detach();
}

void FlowNetwork::wake() {
  set_clock(s4u::Engine::get_clock());
  if (wakes_at_ <= now().value()) wakes_at_ = never;
  ended_now_.clear();
  happen();
  wake_at_next_event();
}

void FlowNetwork::wake_at_next_event() {
  if (next_event() >= wakes_at_) return;
  wakes_at_ = next_event();
  Timer::set(wakes_at_, [this] { wake(); });
}

void FlowNetwork::run() {
  wake_at_next_event();
  engine_->run();
}

}  // namespace paceline::sim
