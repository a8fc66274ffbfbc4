#include "scenarios/import/known_networks.h"

#include <algorithm>

#include "models/shipped_file.h"
#include "scenarios/data_files/data_files.h"

namespace paceline {
namespace {

GradientsOfNetwork shipped(std::string_view network) {
  const auto document = loader::parse_document("the shipped networks", network);
  return gradients_of(*loader::load_network({document, document->root, "network"}, {}));
}

using Operations = std::vector<training::Operation>;

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

}  // namespace

GradientsOfNetwork gradients_of(const workload::Network& network) {
  GradientsOfNetwork made{network.name, {}};
  for (const auto& tensor : workload::parameters(network)) made.counts.push_back(tensor.count);
  std::ranges::reverse(made.counts);
  return made;
}

std::size_t gradients_in(const StepTrace& trace) {
  std::size_t gradients = 0;
  for (const auto& operation : trace.program.operations) gradients += operation.gradients.size();
  return gradients;
}

void fill_gradients(const GradientsOfNetwork& network, StepTrace& trace) {
  auto next = network.counts.begin();
  for (auto& operation : trace.program.operations) {
    for (ElementCount& gradient : operation.gradients) gradient = *next++;
  }
}

std::optional<std::string> fill_gradients(StepTrace& trace) {
  const auto& operations = trace.program.operations;
  const std::size_t gradients = gradients_in(trace);
  if (gradients == 0 || !are_unknown(operations)) return std::nullopt;
  for (const ShippedFile& file : shipped_networks()) {
    const GradientsOfNetwork network = shipped(file.name);
    const auto& counts = network.counts;
    if (counts.size() != gradients || !fill_the_buckets(counts, operations)) continue;
    fill_gradients(network, trace);
    return std::string(file.name);
  }
  return std::nullopt;
}

std::vector<std::string> networks_with_gradients(std::size_t tensors, Bytes bytes) {
  constexpr std::uint64_t element_bytes = 4;
  std::vector<std::string> names;
  for (const ShippedFile& file : shipped_networks()) {
    const GradientsOfNetwork network = shipped(file.name);
    ElementCount sum;
    for (const ElementCount count : network.counts) sum += count;
    const bool has_as_many = network.counts.size() == tensors;
    if (has_as_many && Bytes(sum.value() * element_bytes) == bytes) names.emplace_back(file.name);
  }
  return names;
}

}  // namespace paceline
