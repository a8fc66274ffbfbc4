#pragma once

#include <cstdint>

#include "models/contract.h"
#include "models/units/units.h"
#include "models/words.h"

namespace paceline {

// Of a tensor's elements: what networks have, and what every backend of real/ sends and adds.
enum class DataType : std::uint8_t { float32, float16, bfloat16, float64, int32, int64 };

constexpr auto words_of(DataType) {
  return words_up_to<DataType::int64>("float32", "float16", "bfloat16", "float64", "int32",
                                      "int64");
}

[[nodiscard]] constexpr ElementSize element_size(DataType type) {
  switch (type) {
    case DataType::float16:
    case DataType::bfloat16: return ElementSize(2);
    case DataType::float32:
    case DataType::int32: return ElementSize(4);
    case DataType::float64:
    case DataType::int64: return ElementSize(8);
  }
  PACELINE_UNREACHABLE("a data type outside the enumeration");
}

}  // namespace paceline
