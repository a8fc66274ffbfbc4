#include "models/uncertain/next.h"

#include <vector>

namespace paceline::uncertain {
namespace {

constexpr double worth_it = 0.9;    // of the width
constexpr double nearly_as = 0.15;  // of the width

double width_of(const Believed& believed) { return believed.high - believed.low; }

double narrowed(const Belief& belief, const KnownRow& candidate,
                std::span<const Response> targets) {
  double sum = 0;
  for (const Response& target : targets) {
    const double before = width_of(belief.of(target));
    sum += before > 0 ? width_of(believed_after(belief, candidate, target)) / before : 1;
  }
  return sum / static_cast<double>(targets.size());
}

}  // namespace

Believed believed_after(const Belief& belief, const KnownRow& candidate, const Response& target) {
  return belief.expecting(candidate).of(target);
}

std::optional<NextMeasurement> next_measurement(const Belief& belief,
                                                std::span<const Candidate> candidates,
                                                std::span<const Response> targets) {
  if (targets.empty()) return std::nullopt;
  std::vector<NextMeasurement> all;
  double least = 1;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    all.push_back({i, narrowed(belief, candidates[i].row, targets)});
    least = std::min(least, all.back().narrowed_to);
  }
  std::optional<NextMeasurement> best;
  for (const NextMeasurement& one : all) {
    if (one.narrowed_to > least + nearly_as || one.narrowed_to > worth_it) continue;
    if (!best || candidates[one.candidate].cost < candidates[best->candidate].cost) best = one;
  }
  return best;
}

}  // namespace paceline::uncertain
