#pragma once

#include <span>
#include <string>

#include "models/words.h"
#include "models/workload/workload.h"
#include "scenarios/document/section.h"

namespace paceline::loader {

// What the backward of an elementwise layer or a pool reads from its forward.
enum class Keeps { input, output, fp32_output, nothing };

constexpr auto words_of(Keeps) {
  return words_up_to<Keeps::nothing>("input", "output", "fp32_output", "nothing");
}

[[nodiscard]] inline workload::Kept keeps(workload::Kept kept, Keeps which) {
  kept.needs_input = which == Keeps::input;
  kept.needs_output = which == Keeps::output || which == Keeps::fp32_output;
  kept.is_wide = which == Keeps::fp32_output;
  return kept;
}

// Of a layer `module` of a network file: a module of a user's own model.
[[nodiscard]] std::span<const Key> module_keys();

struct ModuleOptions {
  bool fused_attention = false;
  bool is_first = false;  // of its network
};

// Costs are of one sample as the file has them; by kind: models/workload/LAYERS.md. Throws
// InputError for a tensor of more than 10^13 elements.
[[nodiscard]] workload::Layer read_module(Section& layer, const std::string& name,
                                          ModuleOptions options);

}  // namespace paceline::loader
