#include "models/training/traced_step.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "models/training/strategies.h"

// The trace's own operations. On as many ranks as the trace has, each rank computes what it did; on
// another number all ranks compute what the median rank did, and none is late. Where some ranks of
// a run were traced and the run is replayed as it was, those ranks do what they did and the others
// what the median rank did. Calls are predicted, except those that are to take their traced time or
// can take nothing else. On one rank there are no predicted calls.
//
// Refuses what would be a guess: several ranks without a collective; calls that can take nothing
// else, on another number of ranks than the run had, or where they take 1 % of the step.
namespace paceline::training {
namespace {

constexpr AssumptionKind median_rank_for_all{
    "{}: every rank is given the compute of rank {}, the median of the {} traced ones; none "
    "begins late"};
constexpr AssumptionKind median_rank_for_others{
    "{}: ranks without a trace are given the compute of rank {}, the median of the {} traced "
    "ones"};
constexpr AssumptionKind untold_calls_as_traced{
    "{}: {} keep their traced times, because the trace does not say their kind or size, or "
    "only some ranks take part in them"};

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

// The ranks behind the traced ones do what that rank did.
void go_on_with_rank(Operation& operation, Rank rank, std::uint32_t ranks) {
  if (operation.rank_parts.empty()) return;
  operation.rank_parts.resize(ranks, operation.part_of(rank));
}

// A root behind the traced ranks.
bool has_server(const TracedWork& traced, const CollectiveCall& call) {
  return call.group == Group::all && index(call.root) >= traced.ranks;
}

BuiltStep build_traced_step(const StrategyRequest& request) {
  const TracedWork& traced = *request.traced;
  BuiltStep built{traced.program, {}};
  const std::uint32_t ranks = request.cluster.ranks().value();
  if (ranks > traced.ranks && traced.calls_as_traced) {
    const Rank rank = median_rank(traced);
    for (Operation& operation : built.program.operations) go_on_with_rank(operation, rank, ranks);
    if (traced.ranks > 1) {
      built.assumptions.add({median_rank_for_others,
                             "ranks",
                             {std::to_string(rank.value()), std::to_string(traced.ranks)}});
    }
  } else if (ranks != traced.ranks) {
    const Rank rank = median_rank(traced);
    for (Operation& operation : built.program.operations) take_rank(operation, rank);
    if (traced.ranks > 1) {
      built.assumptions.add({median_rank_for_all,
                             "ranks",
                             {std::to_string(rank.value()), std::to_string(traced.ranks)}});
    }
  }
  for (Operation& operation : built.program.operations) {
    if (CollectiveCall* call = call_of(operation)) call->range = judged_range;
  }
  if (traced.calls_as_traced) return built;
  for (Operation& operation : built.program.operations) {
    CollectiveCall* call = call_of(operation);
    if (call == nullptr || call->is_untold) continue;
    call->how = Unplanned{};
    if (has_server(traced, *call)) call->how = SimulatedCall{"direct"};
    if (ranks == 1) call->how = KnownCall{Seconds(0), "traced"};
  }
  if (traced.untold_calls > 0) {
    built.assumptions.add(
        {untold_calls_as_traced, "collectives", {std::to_string(traced.untold_calls)}});
  }
  return built;
}

std::optional<Refusal> refuse_traced_step(const StrategyRequest& request) {
  if (request.traced == nullptr) {
    return Refusal{"needs a trace to replay", "write workload: {trace: FILE}"};
  }
  if (request.common.wire_type) {
    return Refusal{"sends gradients in the type of the trace", "take strategy: ddp"};
  }
  return refuse_to_guess(*request.traced, request.cluster.ranks().value());
}

}  // namespace

std::optional<Refusal> refuse_to_guess(const TracedWork& traced, std::uint32_t ranks) {
  if (traced.calls_as_traced || ranks == 1) return std::nullopt;
  const bool has_servers =
      std::ranges::any_of(traced.program.operations, [&](const Operation& operation) {
        const CollectiveCall* call = call_of(operation);
        return call != nullptr && has_server(traced, *call);
      });
  if (has_servers && ranks != traced.ranks) {
    return Refusal{"cannot predict parameter servers for other numbers of ranks than the trace's " +
                       std::to_string(traced.ranks),
                   "take strategy: parameter_server with the network itself (workload.model)"};
  }
  if (traced.calls == 0) {
    return Refusal{"has no collectives to predict: the trace contains none",
                   "profile a rank of DistributedDataParallel with record_shapes=True, record with "
                   "paceline_recorder.py, or name the network (workload.model) and take ddp"};
  }
  constexpr double hardly = 0.01;  // less than predictions are off by
  const bool is_same_world = ranks == traced.world;
  if (traced.untold_calls == 0 || (is_same_world && traced.untold_part < hardly)) {
    return std::nullopt;
  }
  return Refusal{
      "cannot predict " + std::to_string(traced.untold_calls) + " of the trace's " +
          std::to_string(traced.calls) +
          " collectives: it does not say their kind or size, or only some ranks take part",
      "profile with record_shapes=True and torch 2.1 or later, or record with "
      "paceline_recorder.py"};
}

void count_calls(Seconds step, TracedWork& work) {
  for (const Operation& operation : work.program.operations) {
    const CollectiveCall* call = call_of(operation);
    if (call == nullptr) continue;
    ++work.calls;
    if (!call->is_untold) continue;
    ++work.untold_calls;
    work.untold_part += call->known()->time / step;
  }
}

double slowest_rank(const TracedWork& traced, Seconds step) {
  if (traced.ranks < 2 || step <= Seconds(0)) return 1;
  Seconds latest;
  for (const Operation& operation : traced.program.operations) {
    const auto* time = std::get_if<Seconds>(&operation.work);
    if (time == nullptr || operation.kind != OperationKind::input) continue;
    for (std::uint32_t r = 0; r < traced.ranks; ++r) {
      latest = std::max(latest, *time * operation.part_of(Rank(r)));
    }
  }
  const double slowest = traced.slowdown.empty() ? 1 : std::ranges::max(traced.slowdown);
  return std::max(slowest, 1.0) + latest / step;
}

constinit const Strategy traced_strategy{
    .name = "traced",
    .summary =
        "with workload.trace: the trace's own collectives, of the sizes and in the order "
        "that they had",
    .keys = {},
    .build = build_traced_step,
    .refuse = refuse_traced_step,
    .replays_trace = true,
    .is_measured = true,
};

}  // namespace paceline::training
