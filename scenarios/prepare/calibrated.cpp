#include "scenarios/prepare/calibrated.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "models/cost/bounds.h"
#include "models/training/call_plan.h"
#include "models/uncertain/quantities.h"
#include "models/units/parse.h"
#include "scenarios/errors.h"

namespace paceline {
namespace {

using cost::LinkEstimate;
using cost::LinkPlace;

// Whether a sweep or a setting gives one of these keys of a place, or all of it.
bool is_set(const Scenario& scenario, LinkPlace place, std::initializer_list<const char*> keys) {
  const std::string section = fmt::format("cluster.{}", to_text(place));
  const auto& paths = scenario.set_paths;
  return paths.contains("cluster") || paths.contains(section) ||
         std::ranges::any_of(keys,
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

void take_links(const Calibration& calibration, Scenario& scenario) {
  topology::Cluster& cluster = scenario.cluster;
  for (const auto& [place, link] : calibration.links) {
    const bool is_network = place == LinkPlace::network;
    if ((is_network ? cluster.nodes : cluster.gpus_per_node) < 2) continue;
    const LinkEstimate& estimate = link.fit.estimate;
    const Taken taken = is_network ? take_network(scenario, estimate, cluster.network)
                                   : take_intra_node(scenario, estimate, cluster.intra_node);
    if (taken.latency) scenario.assumptions.remove(no_latency, to_text(place));
    scenario.assumptions.add(assumption(place, link, taken));
  }
}

using training::CollectiveCall;

namespace {

struct Applied {
  std::set<collectives::Collective> known, unknown;
  bool other_group = false, other_sizes = false;
  bool beats_wires = false;  // of the described cluster
};

bool is_beyond(const cost::CollectiveFit& fit, Bytes size) {
  const auto [least, most] =
      std::minmax_element(fit.samples().begin(), fit.samples().end(),
                          [](const auto& a, const auto& b) { return a.size < b.size; });
  return size < least->size || size > most->size;
}

const Location calibration_key{"cluster.calibration"};

bool has_mesh(const topology::Cluster& nodes) {
  return nodes.intra_node.kind == topology::IntraNodeKind::nvlink_mesh;
}

// The least number of ranks a node whose rings do not carry what was described.
std::optional<std::size_t> first_difference(const CalibratedMachine& machine,
                                            const topology::Cluster& nodes) {
  constexpr double rounding = 1e-6;
  const auto& as_described = machine.rings.by_ranks();
  const cost::RingParts parts = cost::ring_parts_of(nodes);
  const auto& here = parts.by_ranks();
  const std::size_t most = std::min(here.size(), as_described.size());
  for (std::size_t i = 1; i < most; ++i) {
    // Of the most that both have: a description may be of the whole node, a job of a part of it.
    const double local = here[i].local / here[most - 1].local;
    const double described = as_described[i].local / as_described[most - 1].local;
    if (std::abs(local / described - 1) >= rounding) return i + 1;
  }
  return std::nullopt;
}

// That a mesh is the one that was described.
void require_same(const CalibratedMachine& machine, const topology::Cluster& nodes) {
  // Logs and their description say whether lanes over neighbours are used, not the scenario, whose
  // library is another's version, or another.
  topology::Cluster other = nodes;
  other.intra_node.over_neighbours = !nodes.intra_node.over_neighbours;
  const auto differing = first_difference(machine, nodes);
  if (!differing || !first_difference(machine, other)) return;
  throw InputError(calibration_key,
                   fmt::format("is of {}, whose rings of {} ranks a node carry another part of "
                               "its links than this cluster's",
                               machine.cluster, *differing),
                   "calibrate again with --cluster of this machine");
}

// A mesh has other rings for every number of ranks, which neither a log nor the fit's form tells.
void require_known(const Calibration& calibration, const topology::Cluster& nodes,
                   const cost::CollectiveShape& shape) {
  if (const auto fault = fault_of(calibration.machine, shape.ranks_per_node)) {
    throw InputError(calibration_key, "is of another machine: the cluster " + *fault,
                     "calibrate again with --cluster of this machine");
  }
  if (calibration.machine || !has_mesh(nodes) || shape.ranks_per_node < 2) return;
  if (calibration.is_fitted(shape.collective, shape.ranks_per_node)) return;
  throw InputError(calibration_key,
                   fmt::format("has no log of {} with {} ranks a node, and a mesh has other rings "
                               "for each number",
                               to_text(shape.collective), shape.ranks_per_node),
                   "calibrate again with --cluster NAME, or with such a log");
}

Seconds shortest(const topology::Cluster& nodes, const CollectiveCall& call) {
  const cost::LeastTimes wires = cost::least_times(nodes, call);
  return std::max(wires.node_links, wires.network);
}

// Whether logs are faster than the wires of the described cluster, which is then not theirs.
bool beats_wires(const cost::CollectiveFit& fit, const topology::Cluster& nodes,
                 CollectiveCall call) {
  call.group = training::Group::all;  // logs are of all ranks
  return std::ranges::any_of(fit.samples(), [&](const cost::CollectiveSample& sample) {
    topology::Cluster there = nodes;
    if (sample.shape.ranks_per_node < there.gpus_per_node) {
      there = there.first_of_nodes(sample.shape.ranks_per_node);
    }
    there.nodes = sample.shape.nodes;
    call.count = ElementCount(sample.size.value() / call.element_size.value());
    return sample.time < shortest(there, call);
  });
}

Applied apply(const Calibration& calibration, const topology::Cluster& nodes,
              PreparedPoint& prepared) {
  Applied applied;
  auto& operations = prepared.point.program.operations;
  for (training::OperationId id = 0; id < operations.size(); ++id) {
    CollectiveCall* call = call_of(operations[id]);
    if (call == nullptr || !is_unplanned(*call) || call->size() == Bytes(0)) continue;
    const cost::CollectiveFit* fit = calibration.find(call->collective);
    if (fit == nullptr) {
      applied.unknown.insert(call->collective);
      continue;
    }
    const topology::Cluster members = group_cluster(nodes, call->group);
    const cost::CollectiveShape shape{call->collective, members.nodes, members.gpus_per_node};
    require_known(calibration, members, shape);
    const cost::Prediction predicted = fit->predict(shape, call->size());
    // Those of a calibration that calibrate wrote lie far inside; a file may be written by hand.
    constexpr Seconds least(1e-12), most(1e9);
    if (!(predicted.low >= least && predicted.high <= most)) {
      throw InputError({"cluster.calibration"},
                       fmt::format("has no possible time for a {} of {}", to_text(call->collective),
                                   to_text(call->size())),
                       "calibrate again");
    }
    call->how = training::KnownCall{predicted.time, "calibrated"};
    const bool is_fitted = calibration.is_fitted(shape);
    const bool beats = beats_wires(*fit, nodes, *call);
    // Beyond the logs no time is shorter than the cluster's wires allow, unless it is another's.
    // Logs are of one group, and groups across nodes share their NICs.
    const bool is_measured = is_fitted && call->group != training::Group::across_nodes;
    const Seconds floor = is_measured || beats ? Seconds(0) : shortest(nodes, *call);
    const Seconds time = std::max(predicted.time, floor);
    call->how = training::KnownCall{time, "calibrated"};
    call->range = {std::max(predicted.low, floor) / time, std::max(predicted.high, time) / time};
    applied.beats_wires = applied.beats_wires || beats;
    applied.other_group = applied.other_group || !is_fitted;
    applied.other_sizes = applied.other_sizes || is_beyond(*fit, call->size());
    applied.known.insert(call->collective);
  }
  return applied;
}

std::string names(const std::set<collectives::Collective>& all) {
  std::string text;
  for (const auto one : all) text += (text.empty() ? "" : ", ") + std::string(to_text(one));
  return text;
}

constexpr AssumptionKind no_log{"{}: there is no log of {}; those calls are simulated"};
constexpr AssumptionKind logs_hold{
    "{}: {} takes the times in the logs, whatever algorithm and network the scenario names{}"};
constexpr AssumptionKind wires_beaten{
    "{}: calls in the logs are faster than the described cluster's wires can be; check its links"};
constexpr AssumptionKind jobs_not_felt{"{}: other jobs do not slow down these calls"};
constexpr AssumptionKind one_after_another{"{}: calls run one at a time"};

std::string beyond_logs(const Applied& applied) {
  return fmt::format("{}{}", applied.other_group ? "; extrapolated to this number of GPUs" : "",
                     applied.other_sizes ? "; beyond the sizes measured" : "");
}

}  // namespace

void give_times(const Calibration& calibration, PreparedPoint& prepared) {
  const topology::Cluster nodes = job_cluster(prepared.point);
  if (nodes.ranks() < RankCount(2)) return;
  const Applied applied = apply(calibration, nodes, prepared);
  if (calibration.machine && has_mesh(nodes)) require_same(*calibration.machine, nodes);
  auto& said = prepared.assumptions;
  if (!applied.unknown.empty()) said.add({no_log, "calibrated", {names(applied.unknown)}});
  if (applied.known.empty()) return;
  said.add({logs_hold, "calibrated", {names(applied.known), beyond_logs(applied)}});
  if (applied.beats_wires) said.add({wires_beaten, "calibrated"});
  if (prepared.point.jobs.size() > 1) said.add({jobs_not_felt, "calibrated"});
  for (training::Lane& lane : prepared.point.program.lanes) {
    if (lane.kind != training::LaneKind::communication || lane.in_flight == 1) continue;
    lane.in_flight = 1;  // logs are of one call alone
    said.add({one_after_another, "calibrated"});
  }
}

using uncertain::LinkClass;

namespace {

[[noreturn]] void refuse(const LearntSteps& steps, std::string_view theirs, std::string_view here) {
  throw InputError({"cluster.calibration"},
                   fmt::format("was learnt from {} over {}, and this cluster has {}",
                               steps.scenario, theirs, here),
                   "learn from a scenario of this machine");
}

// Whose hosts limit TCP, where that is said.
bool is_of_hosts(LinkClass network) {
  return network == LinkClass::tcp_own || network == LinkClass::tcp_virtual;
}

bool is_of_other_hosts(const LearntSteps::Row& row, LinkClass network) {
  const LinkClass theirs = row.known.response.place.network;
  return is_of_hosts(theirs) && is_of_hosts(network) && theirs != network;
}

// Of rows that crossed what this cluster has: one like it is enough, as sweeps have several.
void expect_same_node(const LearntSteps& steps, const topology::IntraNode& node) {
  const LearntSteps::Row* other = nullptr;
  for (const LearntSteps::Row& row : steps.rows) {
    if (row.gpus_per_node < 2) continue;
    if (row.intra_node == node.kind) return;
    other = &row;
  }
  if (other != nullptr) refuse(steps, to_text(other->intra_node), to_text(node.kind));
}

void expect_same_network(const LearntSteps& steps, topology::Transport transport,
                         LinkClass network) {
  const LearntSteps::Row* other = nullptr;
  for (const LearntSteps::Row& row : steps.rows) {
    if (row.nodes < 2) continue;
    if (row.transport == transport && !is_of_other_hosts(row, network)) return;
    other = &row;
  }
  if (other == nullptr) return;
  if (other->transport != transport) refuse(steps, to_text(other->transport), to_text(transport));
  refuse(steps, to_text(other->known.response.place.network), to_text(network));
}

}  // namespace

void expect_same_kind(const std::vector<LearntSteps>& learnt, const Scenario& scenario) {
  const topology::Cluster& cluster = scenario.cluster;
  const LinkClass network = place_of(scenario).network;
  for (const LearntSteps& steps : learnt) {
    if (cluster.gpus_per_node > 1) expect_same_node(steps, cluster.intra_node);
    if (cluster.nodes > 1) expect_same_network(steps, cluster.network.transport, network);
  }
}

}  // namespace paceline
