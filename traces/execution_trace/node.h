#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "traces/pytorch/nccl_names.h"

namespace paceline::traces::execution_trace {

// What an operation took or gave: a value, a shape and a type each. As the file spells them:
// strings without quotes, lists from bracket to bracket.
struct Operands {
  std::vector<std::string_view> values, shapes, types;
};

// What record_param_comms has in `attrs` since 1.1.0-chakra.0.0.4. Empty where there is none.
struct Attributes {
  std::string_view collective, dtype, in_count, out_count, group, group_size, first_rank,
      rank_stride;
};

inline constexpr std::array<std::pair<std::string_view, std::string_view Attributes::*>, 8>
    attribute_names{{{"collective_name", &Attributes::collective},
                     {"dtype", &Attributes::dtype},
                     {"in_msg_nelems", &Attributes::in_count},
                     {"out_msg_nelems", &Attributes::out_count},
                     {"pg_name", &Attributes::group},
                     {"pg_size", &Attributes::group_size},
                     {"global_rank_start", &Attributes::first_rank},
                     {"global_rank_stride", &Attributes::rank_stride}}};

// One element of `nodes`.
struct Node {
  std::optional<std::uint64_t> id, parent;
  std::string_view name;
  Operands inputs, outputs;
  Attributes attributes;
};

// Process groups are recorded in the only value of a node of this name.
inline constexpr std::string_view groups_node = "## process_group:init ##";
inline constexpr std::string_view operation_call = "c10d::";

// Whether anything but where it stands is used of a node.
[[nodiscard]] inline bool needs_operands(std::string_view name) {
  return name == pytorch::recorded_call || name.starts_with(pytorch::annotated_call) ||
         name.starts_with(operation_call) || name == groups_node;
}

}  // namespace paceline::traces::execution_trace
