#include "models/training/step_program.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>

#include "models/collectives/hierarchical.h"
#include "models/collectives/registry.h"
#include "models/contract.h"

namespace paceline::training {

std::string_view to_text(OperationKind kind) {
  switch (kind) {
    case OperationKind::input: return "input";
    case OperationKind::forward: return "forward";
    case OperationKind::backward: return "backward";
    case OperationKind::copy: return "copy";
    case OperationKind::optimizer: return "optimizer";
    case OperationKind::collective: return "collective";
  }
  PACELINE_UNREACHABLE("an operation kind outside the enumeration");
  return {};
}

LaneId StepProgram::add_lane(Lane lane) {
  lanes.push_back(std::move(lane));
  return static_cast<LaneId>(lanes.size() - 1);
}

OperationId StepProgram::add(Operation operation) {
  operations.push_back(std::move(operation));
  return static_cast<OperationId>(operations.size() - 1);
}

double Operation::part_of(Rank rank) const {
  return rank_parts.empty() ? 1.0 : rank_parts.at(index(rank));
}

StepProgram one_call_program(CollectiveCall call) {
  StepProgram program;
  const LaneId lane = program.add_lane({"communication", LaneKind::communication});
  program.add({"call", OperationKind::collective, lane, {}, std::move(call)});
  return program;
}

namespace {

constexpr std::uint64_t bytes_max = std::uint64_t{1} << 62;

bool is_unknown(const std::string& name, std::span<const std::string_view> known) {
  return !name.empty() && std::find(known.begin(), known.end(), name) == known.end();
}

std::string fault_of(const StepProgram& program, OperationId id) {
  const Operation& operation = program.operations[id];
  if (operation.lane >= program.lanes.size()) return "is on a lane that does not exist";
  if (program.lanes[operation.lane].in_flight == 0) return "is on a lane that runs nothing";
  for (const OperationId before : operation.after) {
    if (before >= id) return "waits for an operation that is not before it";
  }
  if (const auto* time = std::get_if<Seconds>(&operation.work)) {
    if (!std::isfinite(time->value()) || *time < Seconds(0)) return "has no possible time";
    const bool possible = std::ranges::all_of(
        operation.rank_parts, [](double part) { return std::isfinite(part) && part >= 0; });
    return possible ? "" : "has no possible part of a rank";
  }
  if (!operation.rank_parts.empty()) return "is a call that ranks have parts of";
  const auto& call = std::get<CollectiveCall>(operation.work);
  if (call.element_size == ElementSize(0)) return "has elements of no size";
  if (call.count.value() > bytes_max / call.element_size.value()) {
    return "is of more bytes than can be counted";
  }
  const topology::Wire& wire = call.wire;
  const bool is_wire =
      std::isfinite(wire.bytes) && wire.bytes > 0 &&
      std::ranges::all_of(
          std::array{wire.start, wire.local_hop, wire.remote_hop},
          [](Seconds time) { return std::isfinite(time.value()) && time >= Seconds(0); });
  if (!is_wire) return "has an impossible protocol";
  if (call.known_time) {
    const bool possible = std::isfinite(call.known_time->value()) && *call.known_time >= Seconds(0);
    return possible ? "" : "has no possible time";
  }
  if (!collectives::find_algorithm(call.collective, call.algorithm)) {
    return "names the unknown algorithm \"" + call.algorithm + "\" for " +
           std::string(to_text(call.collective));
  }
  if (is_unknown(call.options.inner, collectives::inner_algorithms())) {
    return "names the unknown algorithm \"" + call.options.inner + "\" inside nodes";
  }
  if (is_unknown(call.options.outer, collectives::outer_algorithms())) {
    return "names the unknown algorithm \"" + call.options.outer + "\" across nodes";
  }
  return {};
}

}  // namespace

std::optional<std::string> find_fault(const StepProgram& program) {
  for (OperationId id = 0; id < program.operations.size(); ++id) {
    const std::string fault = fault_of(program, id);
    if (fault.empty()) continue;
    return "operation " + std::to_string(id) + " (" + program.operations[id].name + ") " + fault;
  }
  return std::nullopt;
}

}  // namespace paceline::training
