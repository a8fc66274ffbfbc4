#include <algorithm>
#include <cmath>
#include <string>

#include "models/units/parse.h"
#include "scenarios/loader/sections.h"

namespace paceline::loader {
namespace {

constexpr AssumptionKind of_sockets{
    "{}: {} moves {} per host over TCP ({} to {}) out of {}, at {} per connection, on hosts "
    "{}; {}"};
constexpr std::string_view narrowed_by_provider{
    "set network.provider or network.stream_bandwidth (`iperf3 -P 1`) to settle it"};
constexpr std::string_view narrowed_by_stream{
    "set network.stream_bandwidth (`iperf3 -P 1`) to settle it"};
constexpr std::string_view overridden{"network.efficiency overrides it"};

// To 10 MB/s: no rate here is known better.
std::string text_of(BytesPerSecond rate) {
  constexpr double step = 1e7;
  return paceline::to_text(BytesPerSecond(std::round(rate.value() / step) * step));
}

std::string text_of(const cost::Sockets& sockets) {
  if (sockets.sockets == 1) return "one socket";
  return std::to_string(sockets.sockets) + " sockets";
}

std::string owner_of(const cost::TcpHosts& hosts) {
  if (hosts.stream) return "of a measured stream";
  switch (hosts.provider) {
    case cost::Provider::unknown: return "that may be virtual";
    case cost::Provider::own: return "of your own";
    default: return "that are virtual";
  }
}

std::string_view narrowed_by(const cost::TcpHosts& hosts) {
  if (hosts.stream) return overridden;
  return hosts.provider == cost::Provider::unknown ? narrowed_by_provider : narrowed_by_stream;
}

// Between nodes: servers have a transport of their own, whatever reduces inside.
bool has_servers(const Scenario& scenario) { return scenario.strategy->name == "parameter_server"; }

// Whether anything crosses to other hosts: in one node what goes to servers, which have theirs.
bool crosses_hosts(const Scenario& scenario) {
  if (scenario.cluster.nodes > 1) return true;
  return has_servers(scenario) && (scenario.cluster.gpus_per_node == 1 ||
                                   !scenario.strategy_settings.get<bool>("hierarchical"));
}

bool is_judged(bool has_efficiency, const Scenario& scenario) {
  const topology::Network& network = scenario.cluster.network;
  const bool is_plan = scenario.collective.library == cost::Library::plan && !has_servers(scenario);
  return crosses_hosts(scenario) && network.transport == topology::Transport::tcp && !is_plan &&
         !has_efficiency && network.efficiency == 1 && scenario.calibration.empty() &&
         network.bandwidth > BytesPerSecond(0);
}

std::string mover_of(const Scenario& scenario) {
  return has_servers(scenario) ? "ps-lite" : std::string(to_text(scenario.collective.library));
}

// NCCL has two channels for each NIC that crosses between nodes (cost::nccl::group_of), unless a
// scenario says how many.
std::uint32_t connections_of(const Scenario& scenario) {
  if (scenario.collective.library != cost::Library::nccl || has_servers(scenario)) return 1;
  const cost::nccl::Channels& channels = scenario.collective.nccl.channels;
  const std::uint32_t found = 2 * scenario.cluster.network.nics_per_node;
  return channels.exactly > 0 ? channels.exactly : channels.within(found);
}

}  // namespace

void limit_by_sockets(bool has_efficiency, Scenario& scenario) {
  if (!is_judged(has_efficiency, scenario)) return;
  topology::Network& network = scenario.cluster.network;
  const BytesPerSecond wires = network.usable_bandwidth() * network.nics_per_node;
  // ps-lite has one connection a pair, as Gloo.
  const cost::TcpRate rate = cost::tcp_rate(
      scenario.tcp_hosts,
      {.library = has_servers(scenario) ? cost::Library::gloo : scenario.collective.library,
       .nccl_minor = scenario.collective.nccl_minor.value_or(cost::nccl::Release::unless_said),
       .nics = network.nics_per_node,
       .connections = connections_of(scenario),
       .wires = wires});
  scenario.tcp_rate = rate;
  if (rate.low >= wires) return;
  network.efficiency = rate.likely / wires;
  // Uplinks of leaf switches are no hosts: as fast as before, or as all hosts below them.
  if (auto& tree = network.fat_tree) {
    tree->oversubscription = std::max(1.0, tree->oversubscription * network.efficiency);
  }
  scenario.assumptions.add(
      {of_sockets,
       "network",
       {mover_of(scenario), text_of(rate.likely), text_of(rate.low), text_of(rate.high),
        text_of(wires), text_of(rate.sockets), owner_of(scenario.tcp_hosts),
        std::string(narrowed_by(scenario.tcp_hosts))}});
}

}  // namespace paceline::loader
