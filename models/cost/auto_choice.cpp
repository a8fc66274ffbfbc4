#include "models/cost/auto_choice.h"

#include <algorithm>
#include <map>
#include <utility>

#include "models/collectives/registry.h"
#include "models/units/parse.h"

namespace paceline::cost {
namespace {

using training::CollectiveCall;

// An algorithm that cannot be used for a call, and why.
struct LeftOut {
  std::string algorithm, reason;
};

struct Ranking {
  std::vector<RankedAlgorithm> by_time;  // the fastest first
  std::vector<LeftOut> left_out;
};

Ranking ranked(const ResolvedPoint& point, CollectiveCall call,
               const collectives::AlgorithmOptions& options, const PredictTime& predict) {
  Ranking ranking;
  for (const auto& row : collectives::algorithms()) {
    if (row.collective != call.collective) continue;
    // What the switches can is not said by a cluster.
    if (row.reduces != collectives::Reduces::endpoints) continue;
    call.how = training::SimulatedCall{std::string(row.name), options};
    const ResolvedPoint one = alone(point, call);
    if (find_fault(one)) continue;  // not with this root, or these servers
    const PredictedStep prediction = predict(one);
    if (const auto* time = std::get_if<Seconds>(&prediction)) {
      ranking.by_time.push_back({std::string(row.name), *time});
    } else {
      ranking.left_out.push_back(
          {std::string(row.name), std::get<NotPredicted>(prediction).reason});
    }
  }
  std::ranges::stable_sort(ranking.by_time, {}, &RankedAlgorithm::time);
  return ranking;
}

constexpr AssumptionKind only_algorithm{"auto, {} GPUs: {} of {} by {} ({})"};
constexpr AssumptionKind fastest_algorithm{"auto, {} GPUs: {} of {} by {} ({}; {} {})"};
constexpr AssumptionKind left_out_algorithm{"auto, {} GPUs: {} by {} left out: {}"};

Assumption assumption(const CollectiveCall& call, RankCount ranks, const Ranking& ranking) {
  std::vector<std::string> values{std::string(to_text(call.collective)), to_text(call.size()),
                                  ranking.by_time[0].algorithm, to_text(ranking.by_time[0].time)};
  const bool has_second = ranking.by_time.size() > 1;
  if (has_second) {
    values.push_back(ranking.by_time[1].algorithm);
    values.push_back(to_text(ranking.by_time[1].time));
  }
  return {has_second ? fastest_algorithm : only_algorithm, std::to_string(ranks.value()),
          std::move(values)};
}

void add_assumptions(const CollectiveCall& call, RankCount ranks, const Ranking& ranking,
                     Assumptions& assumptions) {
  assumptions.add(assumption(call, ranks, ranking));
  for (const LeftOut& one : ranking.left_out) {
    assumptions.add({left_out_algorithm,
                     std::to_string(ranks.value()),
                     {std::string(to_text(call.collective)), one.algorithm, one.reason}});
  }
}

std::string without_algorithm(const CollectiveCall& call, const std::vector<LeftOut>& left_out) {
  std::string text = "no algorithm could be predicted for the " +
                     std::string(to_text(call.collective)) + " of " + to_text(call.size());
  const char* before = ": ";
  for (const LeftOut& one : left_out) {
    text += std::exchange(before, "; ") + one.algorithm + ": " + one.reason;
  }
  return text;
}

}  // namespace

std::vector<RankedAlgorithm> ranked_algorithms(const ResolvedPoint& point,
                                               const CollectiveCall& call,
                                               const collectives::AlgorithmOptions& options,
                                               const PredictTime& predict) {
  return ranked(point, call, options, predict).by_time;
}

ResolvedPoint alone(const ResolvedPoint& point, const CollectiveCall& call) {
  ResolvedPoint one;
  one.id = point.id;
  one.cluster = job_cluster(point);
  one.fidelity = point.fidelity;
  training::CollectiveCall nothing_beside = call;
  nothing_beside.held = Seconds(0);
  one.program = training::one_call_program(nothing_beside);
  return one;
}

Assumptions choose_automatically(ResolvedPoint& point, const PredictTime& predict) {
  std::map<CollectiveCall, std::string> known;
  Assumptions choices;
  for (CollectiveCall* call : calls_in(point.program)) {
    const auto* automatic = std::get_if<training::AutomaticCall>(&call->how);
    if (automatic == nullptr) continue;
    const auto [entry, is_new] = known.try_emplace(*call);
    if (is_new) {
      const Ranking ranking = ranked(point, *call, automatic->options, predict);
      if (ranking.by_time.empty()) throw NoAlgorithm(without_algorithm(*call, ranking.left_out));
      entry->second = ranking.by_time.front().algorithm;
      add_assumptions(*call, job_cluster(point).ranks(), ranking, choices);
    }
    call->how = training::SimulatedCall{entry->second, automatic->options};
  }
  return choices;
}

}  // namespace paceline::cost
