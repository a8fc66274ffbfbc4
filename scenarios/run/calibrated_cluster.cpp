#include "scenarios/run/calibrated_cluster.h"

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

std::string sentence(LinkPlace place, const CalibratedLink& link, const Taken& taken) {
  if (!taken.latency && !taken.bandwidth) {
    return fmt::format("calibrated: {} stays as it was set, whatever {} has", to_text(place),
                       link.files());
  }
  std::string values, kept;
  if (taken.latency) {
    values = to_text(link.fit.estimate.latency);
  } else {
    kept = "; its latency stays as it was set";
  }
  if (taken.bandwidth) {
    values += (values.empty() ? "" : " and ") + to_text(link.fit.estimate.bandwidth);
  } else {
    kept = taken.has_lanes ? "; its bandwidth is a lane's, and stays"
                           : "; its bandwidth stays as it was set";
  }
  return fmt::format("calibrated: {} takes {} from {}{}", to_text(place), values, link.files(),
                     kept);
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
                topology::Cluster& cluster, std::vector<std::string>& assumptions) {
  for (const auto& [place, link] : calibration.links) {
    const bool is_network = place == LinkPlace::network;
    if ((is_network ? scenario.cluster.nodes : scenario.cluster.gpus_per_node) < 2) continue;
    const LinkEstimate& estimate = link.fit.estimate;
    const Taken taken = is_network ? take_network(scenario, estimate, cluster.network)
                                   : take_intra_node(scenario, estimate, cluster.intra_node);
    if (taken.latency) std::erase(assumptions, fmt::format("{}: no latency", to_text(place)));
    assumptions.push_back(sentence(place, link, taken));
  }
}

}  // namespace paceline
