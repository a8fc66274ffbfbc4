#include "scenarios/run/traced_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "models/contract.h"

namespace paceline {
namespace {

using training::CollectiveCall;
using training::Operation;
using training::OperationKind;

void take_median_rank(Operation& operation) {
  auto* time = std::get_if<Seconds>(&operation.work);
  if (time == nullptr) return;
  if (operation.kind == OperationKind::input) *time = Seconds(0);  // one rank late by another
  if (operation.rank_parts.empty()) return;
  auto parts = operation.rank_parts;
  const auto middle = parts.begin() + static_cast<std::ptrdiff_t>((parts.size() - 1) / 2);
  std::ranges::nth_element(parts, middle);
  *time = *time * *middle;
  operation.rank_parts.clear();
}

bool is_told(const CollectiveCall& call) { return call.count > ElementCount(0); }

}  // namespace

training::StepProgram traced_step(const Scenario& scenario, std::vector<std::string>& assumptions) {
  PACELINE_EXPECTS(scenario.traced.has_value());
  const TracedWork& traced = *scenario.traced;
  training::StepProgram program = traced.program;
  const std::uint32_t ranks = scenario.cluster.ranks().value();
  if (ranks != traced.ranks) {
    std::ranges::for_each(program.operations, take_median_rank);
    if (traced.ranks > 1) {
      assumptions.push_back(fmt::format(
          "ranks: each computes what the median of the {} traced ranks did", traced.ranks));
    }
  }
  if (traced.calls_as_traced) return program;
  for (Operation& operation : program.operations) {
    auto* call = std::get_if<CollectiveCall>(&operation.work);
    if (call == nullptr || !is_told(*call)) continue;
    call->algorithm.clear();
    call->known_time.reset();
    if (ranks == 1) call->known_time = Seconds(0);
  }
  if (traced.untold_calls > 0) {
    assumptions.push_back(fmt::format(
        "collectives: {} whose kind or size the trace does not tell take what they took",
        traced.untold_calls));
  }
  return program;
}

}  // namespace paceline
