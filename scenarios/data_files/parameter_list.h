#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "models/workload/workload.h"
#include "scenarios/document/document.h"
#include "scenarios/document/reader.h"

namespace paceline::loader {

// A text of a name and a shape a line, as PyTorch prints them: "fc.weight torch.Size([10, 512])".
[[nodiscard]] inline bool names_a_parameter_list(std::string_view name) {
  return name.ends_with(".txt");
}

// The list that a field names, read once per thread. Throws InputError for what is no text.
[[nodiscard]] DocumentPtr parameter_list(const Field& name);

// Layers of what stands in a list, in its order: the weights of a module are one layer. Costs are
// those of LAYERS.md as far as shapes tell them: a matrix is a product with `sequence` rows (1
// where it is not given), the matrix of an embedding is looked up, vectors alone are a
// normalisation; a weight of more dimensions is one product with its elements. Throws InputError
// for lines that are no name with a shape and for names that stand twice.
[[nodiscard]] workload::Network read_parameter_list(const Document& list,
                                                    std::optional<std::uint64_t> sequence);

// Throws InputError where a field names the index of a checkpoint, which has names without shapes.
void refuse_checkpoint_index(const Field& name);

}  // namespace paceline::loader
