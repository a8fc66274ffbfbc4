#include "models/training/step_program.h"

#include <algorithm>
#include <ranges>
#include <span>
#include <utility>

#include "models/collectives/algorithms.h"
#include "models/collectives/registry.h"
#include "models/units/possible.h"

namespace paceline::training {

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

double Operation::times_on(Rank rank, double slowdown) const {
  return is_of_host(kind) ? part_of(rank) : slowdown * part_of(rank);
}

const collectives::AlgorithmOptions* CollectiveCall::options() const {
  if (const auto* made = simulated()) return &made->options;
  const auto* automatic = std::get_if<AutomaticCall>(&how);
  return automatic == nullptr ? nullptr : &automatic->options;
}

void send_by_hosts(CollectiveCall& call) {
  call.how = SimulatedCall{"direct"};
  call.range = judged_range;
  call.by_hosts = true;
}

bool is_unplanned(const CollectiveCall& call) {
  return std::holds_alternative<Unplanned>(call.how);
}

std::string_view algorithm_of(const CollectiveCall& call) {
  if (const SimulatedCall* simulated = call.simulated()) return simulated->algorithm;
  if (const KnownCall* known = call.known()) return known->from;
  return std::holds_alternative<AutomaticCall>(call.how) ? collectives::automatic : "";
}

const CollectiveCall* call_of(const Operation& operation) {
  return std::get_if<CollectiveCall>(&operation.work);
}

CollectiveCall* call_of(Operation& operation) {
  return std::get_if<CollectiveCall>(&operation.work);
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

std::string fault_of(const SimulatedCall& call, collectives::Collective collective) {
  const topology::Wire& wire = call.wire;
  const bool is_wire =
      is_possible_factor(wire.bytes) && wire.bytes > 0 &&
      std::ranges::all_of(std::array{wire.start, wire.local_hop, wire.remote_hop}, is_possible);
  if (!is_wire) return "has an impossible protocol";
  if (!collectives::find_algorithm(collective, call.algorithm)) {
    return "names the unknown algorithm \"" + call.algorithm + "\" for " +
           std::string(to_text(collective));
  }
  if (is_unknown(call.options.inner, collectives::inner_algorithms())) {
    return "names the unknown algorithm \"" + call.options.inner + "\" inside nodes";
  }
  if (is_unknown(call.options.outer, collectives::outer_algorithms())) {
    return "names the unknown algorithm \"" + call.options.outer + "\" across nodes";
  }
  return {};
}

std::string fault_of(const CollectiveCall& call) {
  if (call.element_size == ElementSize(0)) return "has elements of no size";
  if (!is_possible(call.held)) return "is held for no possible time";
  if (call.count.value() > bytes_max / call.element_size.value()) {
    return "is of more bytes than can be counted";
  }
  if (const KnownCall* known = call.known()) {
    return is_possible(known->time) ? "" : "has no possible time";
  }
  if (call.is_untold) return "is a call of which too little is known to simulate it";
  const SimulatedCall* simulated = call.simulated();
  if (simulated == nullptr) return "is a call without an algorithm";
  return fault_of(*simulated, call.collective);
}

std::string fault_of(const StepProgram& program, OperationId id) {
  const Operation& operation = program.operations[id];
  if (operation.lane >= program.lanes.size()) return "is on a lane that does not exist";
  if (program.lanes[operation.lane].in_flight == 0) return "is on a lane that runs nothing";
  for (const OperationId before : operation.after) {
    if (before >= id) return "waits for an operation that is not before it";
  }
  if (const auto* time = std::get_if<Seconds>(&operation.work)) {
    if (!is_possible(*time)) return "has no possible time";
    const bool possible = std::ranges::all_of(operation.rank_parts, is_possible_factor);
    return possible ? "" : "has no possible part of a rank";
  }
  if (!operation.rank_parts.empty()) return "is a call that ranks have parts of";
  return fault_of(std::get<CollectiveCall>(operation.work));
}

std::string fault_of(const EngineLane& engine, const StepProgram& program) {
  if (engine.lane >= program.lanes.size()) return "is of a lane that does not exist";
  std::size_t calls = 0;
  for (const Operation& operation : program.operations) {
    if (operation.lane != engine.lane) continue;
    const CollectiveCall* call = call_of(operation);
    if (call == nullptr || call->group != Group::all) return "has more than calls of all ranks";
    if (calls == engine.tensors.size()) return "has fewer tensors than its lane has calls";
    const EngineTensor& tensor = engine.tensors[calls++];
    if (tensor.count != call->count || tensor.element_size != call->element_size) {
      return "has another tensor than its lane's call";
    }
  }
  if (calls != engine.tensors.size()) return "has more tensors than its lane has calls";
  std::vector<Seconds> times{engine.rule.cycle, engine.rule.negotiation, engine.rule.launch};
  for (const EngineTensor& tensor : engine.tensors) {
    times.insert(times.end(), {tensor.copy_in, tensor.copy_out, tensor.divide});
  }
  return std::ranges::all_of(times, is_possible) ? "" : "has no possible time";
}

}  // namespace

bool has_gradients_of_known_sizes(const StepProgram& program) {
  auto sizes = program.operations | std::views::transform(&Operation::gradients) | std::views::join;
  return sizes.begin() != sizes.end() && std::ranges::find(sizes, ElementCount(0)) == sizes.end();
}

std::optional<std::string> find_fault(const CollectiveCall& call) {
  const std::string fault = fault_of(call);
  return fault.empty() ? std::nullopt : std::optional(fault);
}

std::optional<std::string> find_fault(const StepProgram& program) {
  if (program.engine) {
    const std::string fault = fault_of(*program.engine, program);
    if (!fault.empty()) return "its engine " + fault;
  }
  for (OperationId id = 0; id < program.operations.size(); ++id) {
    const std::string fault = fault_of(program, id);
    if (fault.empty()) continue;
    return "operation " + std::to_string(id) + " (" + program.operations[id].name + ") " + fault;
  }
  return std::nullopt;
}

}  // namespace paceline::training
