#include "models/cost/auto_choice.h"

#include <map>
#include <stdexcept>
#include <utility>

#include "models/collectives/registry.h"
#include "models/units/parse.h"

namespace paceline::cost {
namespace {

using training::CollectiveCall;

ResolvedPoint alone(const ResolvedPoint& point, const CollectiveCall& call) {
  ResolvedPoint one;
  one.id = point.id;
  one.cluster = job_cluster(point);
  one.fidelity = point.fidelity;
  one.program = training::one_call_program(call);
  return one;
}

struct Candidate {
  std::string_view algorithm;
  Seconds time;
};

struct Ranking {
  std::optional<Candidate> best, second;

  void add(Candidate candidate) {
    if (!best || candidate.time < best->time) {
      second = std::exchange(best, candidate);
    } else if (!second || candidate.time < second->time) {
      second = candidate;
    }
  }
};

Ranking ranked(const ResolvedPoint& point, CollectiveCall call, const PredictTime& predict) {
  Ranking ranking;
  for (const auto& row : collectives::algorithms()) {
    if (row.collective != call.collective) continue;
    call.algorithm = row.name;
    if (const auto time = predict(alone(point, call))) ranking.add({row.name, *time});
  }
  return ranking;
}

std::string sentence(const CollectiveCall& call, RankCount ranks, const Ranking& ranking) {
  std::string text = "auto, " + std::to_string(ranks.value()) +
                     " GPUs: " + std::string(to_text(call.collective)) + " of " +
                     to_text(call.size()) + " by " + std::string(ranking.best->algorithm) + " (" +
                     to_text(ranking.best->time);
  if (ranking.second) {
    text += "; " + std::string(ranking.second->algorithm) + " " + to_text(ranking.second->time);
  }
  return text + ")";
}

}  // namespace

std::vector<std::string> choose_automatically(ResolvedPoint& point, const PredictTime& predict) {
  std::map<CollectiveCall, std::string> chosen;
  std::vector<std::string> sentences;
  for (training::Operation& operation : point.program.operations) {
    auto* call = std::get_if<CollectiveCall>(&operation.work);
    if (call == nullptr || call->algorithm != collectives::automatic) continue;
    const auto [entry, is_new] = chosen.try_emplace(*call);
    if (is_new) {
      const Ranking ranking = ranked(point, *call, predict);
      if (!ranking.best) {
        throw std::runtime_error("no algorithm could be predicted for the " +
                                 std::string(to_text(call->collective)) + " of " +
                                 to_text(call->size()));
      }
      entry->second = ranking.best->algorithm;
      sentences.push_back(sentence(*call, job_cluster(point).ranks(), ranking));
    }
    call->algorithm = entry->second;
  }
  return sentences;
}

}  // namespace paceline::cost
