#pragma once

#include <vector>

#include "models/words.h"
#include "scenarios/loader/scenario_file.h"

namespace paceline::advise {

using Settings = std::vector<ScenarioFile::Setting>;

// What a change is about, and what else it changes.
enum class Option { bucket, strategy, collective, wire_type, accumulation };

constexpr auto words_of(Option) {
  return words_up_to<Option::accumulation>("bucket", "strategy", "collective",
                                           "gradients on the wire", "accumulation");
}

// Whether training computes something else with it: gradients are rounded, or batches larger.
[[nodiscard]] bool alters_training(Option option);

struct Candidate {
  Option option{};
  Settings settings;  // empty: as it is
};

// Candidates of which one is taken; a search goes along one such axis at a time. The first is the
// scenario as it is.
using SearchAxis = std::vector<Candidate>;

// What there is to try with a scenario: its strategy's buckets and every other strategy with its
// own; its library's algorithms; gradients of 16 bits; accumulation. From the registries of
// strategies and algorithms.
[[nodiscard]] std::vector<SearchAxis> options_of(const Scenario& scenario);

}  // namespace paceline::advise
