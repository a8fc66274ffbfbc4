#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "models/collectives/plan.h"
#include "models/units/data_type.h"
#include "models/units/units.h"

// How NVIDIA's nccl-tests count, so that figures of ours can be laid beside theirs.
// Sources: nccl-tests' doc/PERFORMANCE.md, and the GetCollByteCount functions of its src/*.cu.
namespace paceline::collectives {

// Bus bandwidth, which compares with a link's, over the algorithm's (bytes over time).
[[nodiscard]] double bus_factor(Collective collective, RankCount ranks);

// Whether it adds up what ranks have: "redop" is then "sum".
[[nodiscard]] bool is_reducing(Collective collective);

// The elements of a call that was asked for by its bytes: of collectives whose ranks have a part
// each, every part is rounded down to whole lines of 16 bytes. May be 0.
[[nodiscard]] ElementCount tested_count(Collective collective, RankCount ranks, Bytes asked,
                                        ElementSize size);

// The column "count" of such a call: the elements of one rank's part where there are parts.
[[nodiscard]] ElementCount count_column(Collective collective, RankCount ranks, ElementCount count);

// Its -d, of the types that calls are measured with here.
inline constexpr std::array<std::pair<std::string_view, DataType>, 6> nccl_tests_types{
    {{"float", DataType::float32},
     {"half", DataType::float16},
     {"bfloat16", DataType::bfloat16},
     {"double", DataType::float64},
     {"int32", DataType::int32},
     {"int64", DataType::int64}}};
[[nodiscard]] constexpr std::string_view nccl_tests_name(DataType type) {
  for (const auto& [name, known] : nccl_tests_types) {
    if (known == type) return name;
  }
  return to_text(type);
}

}  // namespace paceline::collectives
