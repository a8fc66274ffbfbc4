#include "real/host/add.h"

#include <Eigen/Core>
#include <cstdint>

#include "models/contract.h"

namespace paceline::real {
namespace {

template <class Element>
void add_as(std::span<std::byte> to, std::span<const std::byte> from) {
  using Elements = Eigen::Array<Element, Eigen::Dynamic, 1>;
  const auto count = static_cast<Eigen::Index>(to.size() / sizeof(Element));
  Eigen::Map<Elements>(reinterpret_cast<Element*>(to.data()), count) +=
      Eigen::Map<const Elements>(reinterpret_cast<const Element*>(from.data()), count);
}

}  // namespace

void add(DataType type, std::span<std::byte> to, std::span<const std::byte> from) {
  PACELINE_EXPECTS(to.size() == from.size());
  PACELINE_EXPECTS(to.size() % element_size(type).value() == 0);
  switch (type) {
    case DataType::float32: return add_as<float>(to, from);
    case DataType::float16: return add_as<Eigen::half>(to, from);
    case DataType::bfloat16: return add_as<Eigen::bfloat16>(to, from);
    case DataType::float64: return add_as<double>(to, from);
    case DataType::int32: return add_as<std::int32_t>(to, from);
    case DataType::int64: return add_as<std::int64_t>(to, from);
  }
  PACELINE_UNREACHABLE("a type outside the enumeration");
}

}  // namespace paceline::real
