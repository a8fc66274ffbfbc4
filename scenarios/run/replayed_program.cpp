#include "scenarios/run/replayed_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include "models/contract.h"

namespace paceline {
namespace {

using training::CollectiveCall;
using training::Operation;
using training::OperationKind;

// The one whose compute is the median of all; of two the quicker.
Rank median_rank(const TracedWork& traced) {
  std::vector<std::pair<double, std::uint32_t>> ranks;
  for (std::uint32_t r = 0; r < traced.ranks; ++r) ranks.emplace_back(traced.slowdown[r], r);
  const auto middle = ranks.begin() + static_cast<std::ptrdiff_t>((ranks.size() - 1) / 2);
  std::ranges::nth_element(ranks, middle);
  return Rank(middle->second);
}

void take_rank(Operation& operation, Rank rank) {
  auto* time = std::get_if<Seconds>(&operation.work);
  if (time == nullptr) return;
  if (operation.kind == OperationKind::input) *time = Seconds(0);  // one rank late by another
  *time = *time * operation.part_of(rank);
  operation.rank_parts.clear();
}

bool is_told(const CollectiveCall& call) { return call.count > ElementCount(0); }

}  // namespace

training::StepProgram replayed_program(const Scenario& scenario,
                                       std::vector<std::string>& assumptions) {
  PACELINE_EXPECTS(scenario.traced.has_value());
  const TracedWork& traced = *scenario.traced;
  training::StepProgram program = traced.program;
  const std::uint32_t ranks = scenario.cluster.ranks().value();
  if (ranks != traced.ranks) {
    const Rank rank = median_rank(traced);
    for (Operation& operation : program.operations) take_rank(operation, rank);
    if (traced.ranks > 1) {
      assumptions.push_back(fmt::format(
          "ranks: all compute what rank {} of the {} traced ones did, the median one, and none "
          "begins late",
          rank.value(), traced.ranks));
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
    assumptions.push_back(
        fmt::format("collectives: {} whose kind or size the trace does not tell, or of a part of "
                    "the ranks, take what they took",
                    traced.untold_calls));
  }
  return program;
}

}  // namespace paceline
