#pragma once

#include <optional>

#include "models/units/units.h"
#include "models/words.h"
#include "models/workload/workload.h"
#include "scenarios/document/section.h"

namespace paceline {

// How the data set stores its samples. jpeg: ImageNet pictures, which CPUs decode, crop and flip.
// text: characters, which CPUs tokenise. tokens: token ids in a memory-mapped file. none: no CPU
// prepares them.
enum class InputKind { jpeg, text, tokens, none };
constexpr auto words_of(InputKind) {
  return words_up_to<InputKind::none>("jpeg", "text", "tokens", "none");
}

// What a node's CPUs and disk do for a sample, beside the step before.
struct JobInput {
  InputKind kind = InputKind::none;
  std::optional<SamplesPerSecond> per_core = {};  // likeliest; nullopt: cores are not counted
  double factor = 1;  // its 90 % interval is from a factor-th of it to so many times; 1: told
  std::optional<Bytes> bytes = {};  // of a sample on disk
};

// Clouds count threads, two a core.
inline constexpr double vcpus_per_core = 2;

namespace loader {

[[nodiscard]] std::span<const Key> input_keys();

// `network`: null: a kind has to be told for anything to be counted.
[[nodiscard]] JobInput read_input(Section section, const workload::Network* network);

}  // namespace loader
}  // namespace paceline
