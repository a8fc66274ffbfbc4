#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "models/settings/key.h"

// The tables of keys of a network file's layers.
namespace paceline::loader {

// What the backward of an elementwise layer or a pool reads of its forward.
enum class Keeps { input, output, fp32_output, nothing };

constexpr auto words_of(Keeps) {
  return words_up_to<Keeps::nothing>("input", "output", "fp32_output", "nothing");
}

inline constexpr std::uint64_t extent_max = 1'000'000'000;  // of a layer in any one direction

// A kind of layer: the key that names it, which is the first of its table.
struct LayerKeys {
  std::string_view kind;
  std::span<const settings::Key> keys;
};

// In the order in which a layer of several kinds would be read.
[[nodiscard]] std::span<const LayerKeys> layer_kinds();

// Of layers that are repeated.
[[nodiscard]] std::span<const settings::Key> block_keys();

// A list of layers and blocks of them.
[[nodiscard]] std::span<const settings::Form> layer_list_forms();

}  // namespace paceline::loader
