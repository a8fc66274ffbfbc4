#pragma once

#include <cstdint>
#include <span>

#include "scenarios/document/section.h"

// The tables of keys of a network file's layers.
namespace paceline::loader {

// What the backward of an elementwise layer or a pool reads from its forward.
enum class Keeps { input, output, fp32_output, nothing };

constexpr auto words_of(Keeps) {
  return words_up_to<Keeps::nothing>("input", "output", "fp32_output", "nothing");
}

inline constexpr std::uint64_t extent_max = 1'000'000'000;  // of a layer in any one direction

// The keys of each kind of layer. The first key names the kind; of a layer with several such keys,
// the first kind here counts.
[[nodiscard]] std::span<const std::span<const Key>> layer_kinds();

// Of layers that are repeated.
[[nodiscard]] std::span<const Key> block_keys();

// A list of layers and blocks of them.
[[nodiscard]] std::span<const Form> layer_list_forms();

}  // namespace paceline::loader
