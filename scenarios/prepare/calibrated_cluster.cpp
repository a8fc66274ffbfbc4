#include "scenarios/prepare/calibrated_cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "models/units/parse.h"

namespace paceline {

using cost::LinkEstimate;
using cost::LinkPlace;

namespace {

// Whether a sweep or a setting gives one of these keys of a place, or all of it.
bool is_set(const Scenario& scenario, LinkPlace place, std::initializer_list<const char*> keys) {
  const std::string section = fmt::format("cluster.{}", to_text(place));
  const auto& paths = scenario.set_paths;
  return paths.contains("cluster") || paths.contains(section) ||
         std::any_of(keys.begin(), keys.end(),
                     [&](const char* key) { return paths.contains(section + "." + key); });
}

struct Taken {
  bool latency = false, bandwidth = false;
  bool has_lanes = false;  // whose bandwidth is not a pair's
};

constexpr AssumptionKind link_kept{"calibrated: {} stays as set; the values in {} are not used"};
constexpr AssumptionKind link_taken{"calibrated: {} uses {} and {} from {}"};
constexpr AssumptionKind bandwidth_taken{
    "calibrated: {} uses {} from {}; its latency stays as set"};
constexpr AssumptionKind latency_taken{
    "calibrated: {} uses {} from {}; its bandwidth stays as set"};
constexpr AssumptionKind latency_of_lanes_taken{
    "calibrated: {} uses {} from {}; its bandwidth is per lane and stays as set"};

Assumption assumption(LinkPlace place, const CalibratedLink& link, const Taken& taken) {
  const std::string subject(to_text(place)), files = link.files();
  const std::string latency = to_text(link.fit.estimate.latency);
  const std::string bandwidth = to_text(link.fit.estimate.bandwidth);
  if (taken.latency && taken.bandwidth) return {link_taken, subject, {latency, bandwidth, files}};
  if (taken.bandwidth) return {bandwidth_taken, subject, {bandwidth, files}};
  if (!taken.latency) return {link_kept, subject, {files}};
  return {taken.has_lanes ? latency_of_lanes_taken : latency_taken, subject, {latency, files}};
}

Taken take_network(const Scenario& scenario, const LinkEstimate& estimate,
                   topology::Network& network) {
  Taken taken;
  taken.latency = !is_set(scenario, LinkPlace::network, {"latency"});
  taken.bandwidth =
      !is_set(scenario, LinkPlace::network, {"bandwidth", "efficiency", "framing", "mtu"});
  if (taken.latency) network.latency = estimate.latency;
  if (taken.bandwidth) {
    network.bandwidth = estimate.bandwidth;
    network.efficiency = 1;
    network.framing = topology::Framing::none;
  }
  return taken;
}

Taken take_intra_node(const Scenario& scenario, const LinkEstimate& estimate,
                      topology::IntraNode& node) {
  Taken taken;
  taken.latency = !is_set(scenario, LinkPlace::intra_node, {"latency"});
  taken.has_lanes = node.kind == topology::IntraNodeKind::nvlink_mesh;
  taken.bandwidth = !taken.has_lanes && !is_set(scenario, LinkPlace::intra_node, {"bandwidth"});
  if (taken.latency) node.latency = estimate.latency;
  if (taken.bandwidth) node.bandwidth = estimate.bandwidth;
  return taken;
}

}  // namespace

void take_links(const Calibration& calibration, const Scenario& scenario,
                topology::Cluster& cluster, Assumptions& assumptions) {
  for (const auto& [place, link] : calibration.links) {
    const bool is_network = place == LinkPlace::network;
    if ((is_network ? scenario.cluster.nodes : scenario.cluster.gpus_per_node) < 2) continue;
    const LinkEstimate& estimate = link.fit.estimate;
    const Taken taken = is_network ? take_network(scenario, estimate, cluster.network)
                                   : take_intra_node(scenario, estimate, cluster.intra_node);
    if (taken.latency) assumptions.remove(no_latency, to_text(place));
    assumptions.add(assumption(place, link, taken));
  }
}

}  // namespace paceline
