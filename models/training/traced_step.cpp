#include "models/training/traced_step.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "models/training/call_plan.h"
#include "models/training/strategies.h"

// The trace's own operations: each rank computes, and begins as late, as one that was traced
// (ranks_traced_for). Calls are predicted, except those that are to take their traced time or can
// take nothing else. On one rank there are no predicted calls.
//
// Refuses what would be a guess: several ranks without a collective; calls that can take nothing
// else, on another number of ranks than the run had, or where they take 1 % of the step.
namespace paceline::training {
namespace {

constexpr AssumptionKind untold_calls_as_traced{
    "{}: {} keep their traced times, because the trace does not say their kind or size, or "
    "only some ranks take part in them"};

void give_to_ranks(Operation& operation, const std::vector<Rank>& traced) {
  if (operation.rank_parts.empty()) return;
  std::vector<double> parts;
  for (const Rank rank : traced) parts.push_back(operation.part_of(rank));
  const bool leaves_out = parts.size() < operation.rank_parts.size();
  if (leaves_out && operation.kind == OperationKind::input) {  // late by the first of those left
    const double first = std::ranges::min(parts);
    for (double& part : parts) part -= first;
  }
  operation.rank_parts = std::move(parts);
}

BuiltStep build_traced_step(const StrategyRequest& request) {
  const TracedWork& traced = *request.traced;
  BuiltStep built{traced.program, {}};
  const std::uint32_t ranks = request.cluster.ranks().value();
  const std::vector<Rank> as_traced = ranks_traced_for(traced, ranks);
  for (Operation& operation : built.program.operations) {
    give_to_ranks(operation, as_traced);
    CollectiveCall* call = call_of(operation);
    if (call == nullptr) continue;
    call->range = judged_range;
    if (traced.calls_as_traced || call->is_untold) continue;
    call->how = Unplanned{};
    if (call->by_hosts || servers_of_root(request.cluster, *call) > 0) send_by_hosts(*call);
    if (ranks == 1) call->how = KnownCall{Seconds(0), "traced"};
  }
  if (traced.untold_calls > 0 && !traced.calls_as_traced) {
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
  if (traced.has_servers && ranks != traced.ranks) {
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
  for (const CollectiveCall* call : calls_in(work.program)) {
    ++work.calls;
    work.has_servers = work.has_servers || call->by_hosts;
    if (!call->is_untold) continue;
    ++work.untold_calls;
    work.untold_part += call->known()->time / step;
  }
}

std::vector<Rank> ranks_traced_for(const TracedWork& traced, std::uint32_t ranks) {
  std::vector<Rank> found;
  if (ranks >= traced.ranks) {
    for (std::uint32_t r = 0; r < ranks; ++r) found.emplace_back(r % traced.ranks);
    return found;
  }
  std::vector<std::pair<double, std::uint32_t>> sorted;
  for (std::uint32_t r = 0; r < traced.ranks; ++r) sorted.emplace_back(traced.slowdown[r], r);
  std::ranges::sort(sorted);
  const std::uint64_t last = traced.ranks - 1;
  for (std::uint64_t r = 0; r < ranks; ++r) {
    found.emplace_back(sorted[ranks == 1 ? last / 2 : r * last / (ranks - 1)].second);
  }
  return found;
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
    .servers =
        [](const StrategyRequest& request) {
          if (request.traced == nullptr || !request.traced->has_servers) return ServerLinks{};
          std::set<Rank> roots;
          std::uint32_t pushers = 1;
          for (const CollectiveCall* call : calls_in(request.traced->program)) {
            if (!call->by_hosts) continue;
            roots.insert(call->root);
            pushers = std::max(pushers, axis_of(request.cluster, call->group).size);
          }
          const auto servers = static_cast<std::uint32_t>(roots.size());
          return ServerLinks{Servers::of_gpus, std::max(pushers, servers)};
        },
};

}  // namespace paceline::training
