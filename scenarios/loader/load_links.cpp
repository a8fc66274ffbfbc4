#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "models/cost/host_sums.h"
#include "models/cost/library_ways.h"
#include "models/topology/ring_orders.h"
#include "models/units/parse.h"
#include "scenarios/loader/backend_kind.h"
#include "scenarios/loader/sections.h"

namespace paceline::loader {
namespace {

constexpr AssumptionKind of_sockets{
    "{}: {} moves {} per host over TCP ({} to {}) out of {}, at {} per connection, on hosts "
    "{}; {}"};
constexpr std::string_view narrowed_by_provider{
    "set network.provider or network.stream_bandwidth (`iperf3 -P 1`) to narrow it"};
constexpr std::string_view narrowed_by_stream{
    "set network.stream_bandwidth (`iperf3 -P 1`) to narrow it"};
constexpr std::string_view at_most_a_stream{
    "network.stream_bandwidth is the most that a connection carries; network.efficiency overrides "
    "it"};
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
  if (hosts.is_measured()) return "of a measured stream";
  switch (hosts.provider) {
    case cost::Provider::unknown: return "that may be virtual";
    case cost::Provider::own: return "of your own";
    default: return "that are virtual";
  }
}

std::string_view narrowed_by(const cost::TcpHosts& hosts) {
  if (hosts.stream) return hosts.is_measured() ? overridden : at_most_a_stream;
  return hosts.provider == cost::Provider::unknown ? narrowed_by_provider : narrowed_by_stream;
}

training::ServerLinks servers_of(const Scenario& scenario) {
  const auto servers = scenario.strategy->servers;
  return servers == nullptr ? training::ServerLinks{} : servers(strategy_request(scenario));
}

bool has_servers(const Scenario& scenario) {
  return servers_of(scenario).servers != training::Servers::none;
}

// Whether anything crosses to other hosts: in one node what goes to servers, which have theirs.
bool crosses_hosts(const Scenario& scenario) {
  return scenario.cluster.nodes > 1 || servers_of(scenario).servers == training::Servers::of_gpus;
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

// Over TCP, a host moves what its library's sockets can (models/cost/tcp_hosts.h), which may be
// less than the wires. Sets the network's efficiency to that, `tcp_rate` to its interval, and says
// so among the assumptions. Does nothing where the efficiency or a calibration is given, for
// Paceline's own plans, or where nothing crosses to another host. On slower wires `tcp_rate` is
// theirs.
void limit_by_sockets(bool has_efficiency, const Scenario& scenario, UsedLinks& links) {
  if (!is_judged(has_efficiency, scenario)) return;
  topology::Network& network = links.cluster.network;
  const BytesPerSecond wires = network.usable_bandwidth() * network.nics_per_node;
  // ps-lite has one connection a pair, as Gloo, each with what moves its bytes.
  const cost::Library library =
      has_servers(scenario) ? cost::Library::gloo : scenario.collective.library;
  const cost::TcpRate rate = cost::tcp_rate(
      scenario.tcp_hosts,
      {.library = library,
       .nccl_minor = scenario.collective.nccl_minor.value_or(cost::nccl::Release::unless_said),
       .nics = network.nics_per_node * servers_of(scenario).connections,
       .connections =
           cost::connections_of(library, network.nics_per_node, scenario.collective.nccl.channels),
       .wires = wires});
  links.tcp_rate = rate;
  if (rate.low >= wires) return;
  network.efficiency = rate.likely / wires;
  // Uplinks of leaf switches are no hosts: as fast as before, or as all hosts below them.
  if (auto& tree = network.fat_tree) {
    tree->oversubscription = std::max(1.0, tree->oversubscription * network.efficiency);
  }
  links.assumptions.add(
      {of_sockets,
       "network",
       {mover_of(scenario), text_of(rate.likely), text_of(rate.low), text_of(rate.high),
        text_of(wires), text_of(rate.sockets), owner_of(scenario.tcp_hosts),
        std::string(narrowed_by(scenario.tcp_hosts))}});
}

// Ranks of a model are GPUs, but for those of a section `real`, which wait in their place. What
// sums for layers with times of their own, or for a trace, is not known.
bool sums_in_host_memory(Section& file, const Scenario& scenario) {
  const bool are_gpus = scenario.models_host() && scenario.workload.device.multiprocessors > 0 &&
                        !file.map().has("real");
  return are_gpus && cost::sums_in_host_memory(scenario.collective.library) &&
         !has_servers(scenario) && scenario.calibration.empty() &&
         scenario.cluster.ranks() > RankCount(1);
}

// Links that several GPUs need.
void check_links(Section& file, const Scenario& scenario, UsedLinks& links) {
  const topology::Cluster& cluster = links.cluster;
  if (cluster.nodes > 1 && cluster.network.latency == Seconds(0)) {
    links.assumptions.add({no_latency, "network"});
  }
  if (cluster.gpus_per_node > 1 && cluster.intra_node.latency == Seconds(0)) {
    links.assumptions.add({no_latency, "intra_node"});
  }
  const double spread = topology::spread_of_boxes(cluster);
  if (spread > 1 && scenario.calibration.empty()) {
    links.assumptions.add({class_of_boxes, "intra_node", {fmt::format("{:.3g}", spread)}});
  }
  if (cluster.nodes > 1 && cluster.network.bandwidth == BytesPerSecond(0)) {
    throw InputError(file.map().map("cluster").location(), "cluster.network.bandwidth is missing",
                     "write network: {bandwidth: 100Gbps}");
  }
}

void use_as_the_library(Section& file, const Scenario& scenario, topology::Cluster& cluster) {
  const CollectiveSettings& collective = scenario.collective;
  Reader said = file.map().map("cluster").map("network");
  topology::Network& network = cluster.network;
  if (!said.has("receives")) {
    std::optional<cost::Library> under_plans;
    if (file.map().has("real")) under_plans = backend_kind(scenario.real.backend).calls;
    network.receives = cost::receives_of(collective.library, under_plans, network.transport)
                           .value_or(network.receives);
  }
  if (!said.has("rendezvous_above")) {
    network.rendezvous_above = cost::rendezvous_above(collective.library, network.transport);
  }
  cluster.intra_node.over_neighbours = cost::goes_over_neighbours(
      cluster.intra_node, collective.library, collective.has_nvb, scenario.strategy->copies);
}

}  // namespace

UsedLinks used_links(Section& file, const Scenario& scenario) {
  UsedLinks links{scenario.cluster, std::nullopt, sums_in_host_memory(file, scenario), {}};
  use_as_the_library(file, scenario, links.cluster);
  check_links(file, scenario, links);
  limit_by_sockets(file.map().map("cluster").map("network").has("efficiency"), scenario, links);
  return links;
}

}  // namespace paceline::loader
