#include "real/data_type.h"

#include <stdexcept>
#include <string>

#include "models/contract.h"

namespace paceline::real {

std::string_view to_text(DataType type) {
  switch (type) {
    case DataType::float32: return "float32";
    case DataType::float16: return "float16";
    case DataType::bfloat16: return "bfloat16";
    case DataType::float64: return "float64";
    case DataType::int32: return "int32";
  }
  PACELINE_UNREACHABLE("a type outside the enumeration");
}

ElementSize size_of(DataType type) {
  switch (type) {
    case DataType::float16:
    case DataType::bfloat16: return ElementSize(2);
    case DataType::float32:
    case DataType::int32: return ElementSize(4);
    case DataType::float64: return ElementSize(8);
  }
  PACELINE_UNREACHABLE("a type outside the enumeration");
}

DataType gradient_type(ElementSize size) {
  switch (size.value()) {
    case 2: return DataType::float16;
    case 4: return DataType::float32;
    case 8: return DataType::float64;
    default:
      throw std::invalid_argument("no type of " + std::to_string(size.value()) +
                                  " bytes is sent by the backends");
  }
}

}  // namespace paceline::real
