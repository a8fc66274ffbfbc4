#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "models/units/units.h"
#include "traces/device_trace/device_trace.h"

// What the spellings of values in a trace mean.
namespace paceline::traces::pytorch {

// 126 years: no sum or difference of two such times overflows.
inline constexpr TraceTime furthest_time = 4'000'000'000'000'000'000;

// Of a decimal number of microseconds, to the nearest; nullopt for no number or a further time.
[[nodiscard]] std::optional<TraceTime> nanoseconds_of(std::string_view microseconds);

// Of one element; nullopt for types unknown here: "Float", "c10::BFloat16", "long int", "float32".
[[nodiscard]] std::optional<ElementSize> element_size_of(std::string_view type);

// The numbers of "[0, 1]"; those before the dots of "[0, 1, ..., 63]".
[[nodiscard]] std::vector<Rank> ranks_of(std::string_view list);

inline constexpr std::uint64_t elements_most = std::uint64_t{1} << 48;  // no memory holds more

// Elements of tensors together, by their shapes in lists however deep: [[8, 16], []] are 129.
// nullopt for more than elements_most, or no numbers.
[[nodiscard]] std::optional<std::uint64_t> elements_of(std::string_view shapes);

// The larger of "In msg nelems" and "Out msg nelems", as far as they are recorded.
[[nodiscard]] std::optional<ElementCount> larger_count(std::string_view in, std::string_view out);

// Elements of all tensors of "Input Dims" and "Input type", and the type if they share it: of [[8,
// 16], []] and ["float", "Scalar"] 128 of 4 bytes.
struct Tensors {
  std::uint64_t elements;
  ElementSize element_size;
};
[[nodiscard]] std::optional<Tensors> tensors_of(std::string_view dims, std::string_view types);

// Likewise each of them by itself, without those of unknown types or shapes.
[[nodiscard]] std::vector<Tensors> each_tensor_of(std::string_view dims, std::string_view types);

}  // namespace paceline::traces::pytorch
