#include "scenarios/prepare/calibrated_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string>

#include "models/assumption.h"
#include "models/training/call_plan.h"
#include "models/units/parse.h"
#include "scenarios/errors.h"
#include "scenarios/prepare/calibrated_cluster.h"

namespace paceline {

using training::CollectiveCall;

namespace {

struct Applied {
  std::set<collectives::Collective> known, unknown;
  bool other_group = false, other_sizes = false;
};

bool is_beyond(const cost::CollectiveFit& fit, Bytes size) {
  const auto [least, most] =
      std::minmax_element(fit.samples().begin(), fit.samples().end(),
                          [](const auto& a, const auto& b) { return a.size < b.size; });
  return size < least->size || size > most->size;
}

const Location calibration_key{"cluster.calibration", 0, 0};

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
      throw InputError({"cluster.calibration", 0, 0},
                       fmt::format("has no possible time for a {} of {}", to_text(call->collective),
                                   to_text(call->size())),
                       "calibrate again");
    }
    call->how = training::KnownCall{predicted.time, "calibrated"};
    call->range = {predicted.low / predicted.time, predicted.high / predicted.time};
    applied.other_group = applied.other_group || !calibration.is_fitted(shape);
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
constexpr AssumptionKind jobs_not_felt{"{}: other jobs do not slow down these calls"};
constexpr AssumptionKind one_after_another{"{}: calls run one at a time"};

std::string beyond_logs(const Applied& applied) {
  return fmt::format("{}{}", applied.other_group ? "; extrapolated to this number of GPUs" : "",
                     applied.other_sizes ? "; beyond the sizes measured" : "");
}

void give_times(const Calibration& calibration, const topology::Cluster& nodes,
                PreparedPoint& prepared) {
  const Applied applied = apply(calibration, nodes, prepared);
  if (calibration.machine && has_mesh(nodes)) require_same(*calibration.machine, nodes);
  auto& said = prepared.assumptions;
  if (!applied.unknown.empty()) said.add({no_log, "calibrated", {names(applied.unknown)}});
  if (applied.known.empty()) return;
  said.add({logs_hold, "calibrated", {names(applied.known), beyond_logs(applied)}});
  if (prepared.point.jobs.size() > 1) said.add({jobs_not_felt, "calibrated"});
  for (training::Lane& lane : prepared.point.program.lanes) {
    if (lane.kind != training::LaneKind::communication || lane.in_flight == 1) continue;
    lane.in_flight = 1;  // logs are of one call alone
    said.add({one_after_another, "calibrated"});
  }
}

bool simulates_calls(const training::StepProgram& program) {
  return std::ranges::any_of(program.operations, [](const training::Operation& operation) {
    const CollectiveCall* call = call_of(operation);
    return call != nullptr && call->known() == nullptr && call->size() > Bytes(0);
  });
}

}  // namespace

void plan_calibrated_calls(const Calibration& calibration, const Scenario& scenario,
                           PreparedPoint& prepared) {
  const topology::Cluster nodes = job_cluster(prepared.point);
  if (nodes.ranks() < RankCount(2)) return plan_calls(scenario, prepared);
  give_times(calibration, nodes, prepared);
  if (simulates_calls(prepared.point.program)) {
    take_links(calibration, scenario, prepared.point.cluster, prepared.assumptions);
  }
  // Of what is still simulated: what the library runs depends on the links.
  Scenario on_links = scenario;
  on_links.cluster.network = prepared.point.cluster.network;
  on_links.cluster.intra_node = prepared.point.cluster.intra_node;
  plan_calls(on_links, prepared);
}

}  // namespace paceline
