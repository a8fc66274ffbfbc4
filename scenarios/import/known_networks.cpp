#include "scenarios/import/known_networks.h"

#include <algorithm>
#include <vector>

#include "models/shipped_file.h"
#include "scenarios/loader/data_files.h"

namespace paceline {
namespace {

// In the order in which they are ready.
std::vector<ElementCount> gradients_of(std::string_view network) {
  const auto document = loader::parse_document("the shipped networks", network);
  const workload::Network loaded =
      loader::load_network(loader::Field(document, document->root, "network"), {});
  std::vector<ElementCount> counts;
  for (const auto& tensor : workload::parameters(loaded)) counts.push_back(tensor.count);
  std::ranges::reverse(counts);
  return counts;
}

std::size_t gradients_in(const std::vector<Span>& spans) {
  std::size_t gradients = 0;
  for (const Span& span : spans) gradients += span.gradients.size();
  return gradients;
}

bool are_unknown(const std::vector<Span>& spans) {
  return std::ranges::all_of(spans, [](const Span& span) {
    return std::ranges::all_of(span.gradients,
                               [](ElementCount count) { return count == ElementCount(0); });
  });
}

bool fill_the_buckets(const std::vector<ElementCount>& counts, const std::vector<Span>& spans) {
  std::size_t next = 0, buckets = 0;
  ElementCount sum;
  for (const Span& span : spans) {
    for (std::size_t i = 0; i < span.gradients.size(); ++i) sum += counts[next++];
    if (span.collective != collectives::Collective::all_reduce || sum == ElementCount(0)) continue;
    if (span.element_size == ElementSize(0) || span.size != sum * span.element_size) return false;
    sum = ElementCount(0);
    ++buckets;
  }
  return buckets > 0 && sum == ElementCount(0);
}

void fill(const std::vector<ElementCount>& counts, std::vector<Span>& spans) {
  std::size_t next = 0;
  for (Span& span : spans) {
    for (ElementCount& gradient : span.gradients) gradient = counts[next++];
  }
}

}  // namespace

std::optional<std::string> fill_gradients(StepTrace& trace) {
  const auto& spans = trace.classes.front().spans;
  const std::size_t gradients = gradients_in(spans);
  if (gradients == 0 || !are_unknown(spans)) return std::nullopt;
  for (const ShippedFile& file : shipped_networks()) {
    const auto counts = gradients_of(file.name);
    if (counts.size() != gradients || !fill_the_buckets(counts, spans)) continue;
    for (RankClass& members : trace.classes) fill(counts, members.spans);
    return std::string(file.name);
  }
  return std::nullopt;
}

}  // namespace paceline
