#include "scenarios/import/known_networks.h"

#include <algorithm>
#include <vector>

#include "models/shipped_file.h"
#include "scenarios/loader/data_files/data_files.h"

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

using Operations = std::vector<training::Operation>;

std::size_t gradients_in(const Operations& operations) {
  std::size_t gradients = 0;
  for (const auto& operation : operations) gradients += operation.gradients.size();
  return gradients;
}

bool are_unknown(const Operations& operations) {
  return std::ranges::all_of(operations, [](const training::Operation& operation) {
    return std::ranges::all_of(operation.gradients,
                               [](ElementCount count) { return count == ElementCount(0); });
  });
}

bool fill_the_buckets(const std::vector<ElementCount>& counts, const Operations& operations) {
  std::size_t next = 0, buckets = 0;
  ElementCount sum;
  for (const auto& operation : operations) {
    for (std::size_t i = 0; i < operation.gradients.size(); ++i) sum += counts[next++];
    const auto* call = call_of(operation);
    if (call == nullptr || call->collective != collectives::Collective::all_reduce) continue;
    if (sum == ElementCount(0)) continue;
    if (call->is_untold || call->count != sum) return false;
    sum = ElementCount(0);
    ++buckets;
  }
  return buckets > 0 && sum == ElementCount(0);
}

void fill(const std::vector<ElementCount>& counts, Operations& operations) {
  std::size_t next = 0;
  for (auto& operation : operations) {
    for (ElementCount& gradient : operation.gradients) gradient = counts[next++];
  }
}

}  // namespace

std::optional<std::string> fill_gradients(StepTrace& trace) {
  auto& operations = trace.program.operations;
  const std::size_t gradients = gradients_in(operations);
  if (gradients == 0 || !are_unknown(operations)) return std::nullopt;
  for (const ShippedFile& file : shipped_networks()) {
    const auto counts = gradients_of(file.name);
    if (counts.size() != gradients || !fill_the_buckets(counts, operations)) continue;
    fill(counts, operations);
    return std::string(file.name);
  }
  return std::nullopt;
}

}  // namespace paceline
