#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "models/units/units.h"

namespace paceline::real {

// Types of elements that every backend sends and adds.
enum class DataType : std::uint8_t { float32, float16, bfloat16, float64, int32 };

inline constexpr std::array all_data_types{DataType::float32, DataType::float16, DataType::bfloat16,
                                           DataType::float64, DataType::int32};

[[nodiscard]] std::string_view to_text(DataType type);
[[nodiscard]] ElementSize size_of(DataType type);

// The type of gradients whose elements have so many bytes: float16 for 2, float32 for 4, float64
// for
// 8. Throws std::invalid_argument for any other.
[[nodiscard]] DataType gradient_type(ElementSize size);

}  // namespace paceline::real
