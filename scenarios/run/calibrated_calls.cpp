#include "scenarios/run/calibrated_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace paceline {

using training::CollectiveCall;

void apply_calibration(const Calibration& calibration, PreparedPoint& prepared) {
  const topology::Cluster nodes = job_cluster(prepared.point);
  if (nodes.ranks() < RankCount(2)) return;
  std::set<collectives::Collective> known, unknown;
  bool extrapolated = false;
  auto& operations = prepared.point.program.operations;
  for (training::OperationId id = 0; id < operations.size(); ++id) {
    auto* call = std::get_if<CollectiveCall>(&operations[id].work);
    if (call == nullptr || call->size() == Bytes(0)) continue;
    const cost::CollectiveFit* fit = calibration.find(call->collective);
    if (fit == nullptr) {
      unknown.insert(call->collective);
      continue;
    }
    const cost::CollectiveShape shape{call->collective, nodes.nodes, nodes.gpus_per_node};
    const cost::Prediction predicted = fit->predict(shape, call->size());
    call->known_time = predicted.time;
    prepared.call_ranges[id] = {predicted.low / predicted.time, predicted.high / predicted.time};
    call->algorithm = "calibrated";
    extrapolated = extrapolated || !calibration.is_fitted(shape);
    known.insert(call->collective);
  }
  const auto names = [](const std::set<collectives::Collective>& all) {
    std::string text;
    for (const auto one : all) text += (text.empty() ? "" : ", ") + std::string(to_text(one));
    return text;
  };
  if (!known.empty()) {
    prepared.assumptions.push_back(fmt::format(
        "calibrated: {} takes what logs of {} tables say{}", names(known),
        calibration.sources.size(), extrapolated ? "; extrapolated to this number of GPUs" : ""));
  }
  if (!unknown.empty()) {
    prepared.assumptions.push_back(
        fmt::format("calibrated: no log of {}, which is simulated", names(unknown)));
  }
}

}  // namespace paceline
