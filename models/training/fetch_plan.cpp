#include "models/training/fetch_plan.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace paceline::training {
namespace {

using workload::ParameterTensor;
using workload::TimedLayer;

// In the order in which layers run: a checkpointed segment again before its backward.
std::vector<Visit> visits_of(std::span<const TimedLayer> layers,
                             workload::Checkpoints checkpoints) {
  std::vector<Visit> visits;
  const auto add = [&](std::optional<std::size_t> layer, VisitKind kind) {
    visits.push_back({layer, kind, {}, {}, {}});
  };
  add(std::nullopt, VisitKind::forward);
  for (std::size_t layer = 0; layer < layers.size(); ++layer) add(layer, VisitKind::forward);
  add(std::nullopt, VisitKind::backward);
  auto segments = workload::segments_of(workload::blocks_of(layers), checkpoints);
  for (std::size_t layer = layers.size(); layer-- > 0;) {
    if (!segments.empty() && segments.back().end == layer + 1) {
      for (std::size_t i = segments.back().begin; i <= layer; ++i) add(i, VisitKind::recompute);
      segments.pop_back();
    }
    add(layer, VisitKind::backward);
  }
  return visits;
}

class Coordinator {
 public:
  Coordinator(std::span<const TimedLayer> layers, workload::Checkpoints checkpoints,
              const FetchRule& rule)
      : rule_(rule) {
    for (const TimedLayer& layer : layers) {
      Bucket& own = tensors_of_.emplace_back();
      for (const ParameterTensor& tensor : layer.parameters) {
        own.push_back(tensors_.size());
        tensors_.push_back(tensor);
        plan_.is_persistent.push_back(tensor.count <= rule.threshold);
      }
    }
    is_live_ = plan_.is_persistent;
    last_use_.assign(tensors_.size(), 0);
    fetched_by_.resize(tensors_.size());
    plan_.visits = visits_of(layers, checkpoints);
    uses_of_.resize(tensors_.size());
    for (std::size_t v = 0; v < plan_.visits.size(); ++v) {
      std::uint64_t after = passed_.back();
      for (const std::size_t tensor : tensors_at(v)) {
        uses_.push_back({tensor, v});
        uses_of_[tensor].push_back(v);
        after += elements(tensor);
      }
      passed_.push_back(after);
    }
  }

  FetchPlan run() {
    for (std::size_t v = 0; v < plan_.visits.size(); ++v) {
      fetch(v);
      release(v);
    }
    return std::move(plan_);
  }

 private:
  struct Use {
    std::size_t tensor, visit;
  };

  [[nodiscard]] const Bucket& tensors_at(std::size_t visit) const {
    static const Bucket none;
    const auto layer = plan_.visits[visit].layer;
    return layer ? tensors_of_[*layer] : none;
  }
  [[nodiscard]] std::uint64_t elements(std::size_t tensor) const {
    return tensors_[tensor].count.value();
  }
  [[nodiscard]] Bytes bytes(std::size_t tensor) const {
    return tensors_[tensor].count * element_size(tensors_[tensor].type);
  }

  void fetch(std::size_t v) {
    Visit& visit = plan_.visits[v];
    Bucket missing;
    for (const std::size_t tensor : tensors_at(v)) {
      if (!is_live_[tensor]) missing.push_back(tensor);
    }
    visit.own = fetched(std::move(missing));
    for (const std::size_t tensor : tensors_at(v)) {
      const auto awaited = std::exchange(fetched_by_[tensor], std::nullopt);
      if (!awaited || is_awaited_[*awaited]) continue;
      is_awaited_[*awaited] = true;
      visit.awaited.push_back(*awaited);
    }
    // What it uses itself is not looked at again.
    while (next_ < uses_.size() && uses_[next_].visit <= v) mark(uses_[next_++]);
    if (rule_.prefetch > ElementCount(0)) visit.ahead = fetched(next_uses());
    plan_.live = std::max(plan_.live, live_bytes_);
  }

  // The parameters to fetch ahead.
  Bucket next_uses() {
    const std::uint64_t room = rule_.live.value() - std::min(rule_.live.value(), live_);
    const std::uint64_t most = std::min(room, rule_.prefetch.value());
    Bucket ahead;
    for (std::uint64_t held = 0; next_ < uses_.size() && held < most;) {
      const Use use = uses_[next_++];
      mark(use);
      if (is_live_[use.tensor]) continue;
      is_live_[use.tensor] = true;
      ahead.push_back(use.tensor);
      held += elements(use.tensor);
    }
    std::ranges::sort(ahead);
    return ahead;
  }

  void mark(const Use& use) { last_use_[use.tensor] = use.visit; }

  std::optional<std::size_t> fetched(Bucket tensors) {
    if (tensors.empty()) return std::nullopt;
    for (const std::size_t tensor : tensors) {
      is_live_[tensor] = true;
      fetched_by_[tensor] = plan_.fetches.size();
      live_ += elements(tensor);
      live_bytes_ += bytes(tensor);
    }
    plan_.fetches.push_back(std::move(tensors));
    is_awaited_.push_back(false);
    return plan_.fetches.size() - 1;
  }

  void release(std::size_t v) {
    for (const std::size_t tensor : tensors_at(v)) {
      // A use that was passed over; DeepSpeed counts its steps from the next one on.
      const bool is_skipped = last_use_[tensor] > v + 1;
      if (plan_.is_persistent[tensor] || is_skipped || comes_again(tensor, v)) continue;
      is_live_[tensor] = false;
      live_ -= elements(tensor);
      live_bytes_ -= bytes(tensor);
    }
  }

  // Whether less than the reuse distance is used between a visit and the tensor's next one.
  [[nodiscard]] bool comes_again(std::size_t tensor, std::size_t visit) const {
    const auto next = std::ranges::upper_bound(uses_of_[tensor], visit);
    if (next == uses_of_[tensor].end()) return false;
    return passed_[*next] - passed_[visit + 1] < rule_.reuse.value();
  }

  FetchRule rule_;
  FetchPlan plan_;
  std::vector<ParameterTensor> tensors_;
  std::vector<Bucket> tensors_of_;  // by layer
  std::vector<Use> uses_;           // of a whole pass, in its order
  std::size_t next_ = 0;            // of them that was neither fetched nor passed over
  std::vector<std::vector<std::size_t>> uses_of_;  // visits by tensor
  std::vector<std::uint64_t> passed_{0};           // elements used before each visit
  // By tensor: there or on its way; the visit up to which uses are provided for; the fetch that
  // brings it, until it is waited for.
  std::vector<bool> is_live_;
  std::vector<std::size_t> last_use_;
  std::vector<std::optional<std::size_t>> fetched_by_;
  std::vector<bool> is_awaited_;  // by fetch
  std::uint64_t live_ = 0;        // elements, without persistent ones
  Bytes live_bytes_;
};

}  // namespace

FetchPlan plan_fetches(std::span<const TimedLayer> layers, workload::Checkpoints checkpoints,
                       const FetchRule& rule) {
  return Coordinator(layers, checkpoints, rule).run();
}

}  // namespace paceline::training
