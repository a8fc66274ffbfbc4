#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "models/collectives/plan.h"

// Numbers and names of the Chakra schema (mlcommons/chakra, et_def.proto, 0.0.4).
namespace paceline::traces::chakra {

enum class NodeType : std::int32_t {
  metadata = 1,
  load = 2,
  store = 3,
  compute = 4,
  send = 5,
  receive = 6,
  collective = 7
};

struct CommunicationType {
  std::string_view name;
  std::optional<collectives::Collective> collective;  // when it is one of ours
};

// By CollectiveCommType.
inline constexpr CommunicationType communication_types[] = {
    {"all_reduce", collectives::Collective::all_reduce},
    {"reduce", collectives::Collective::reduce},
    {"all_gather", collectives::Collective::all_gather},
    {"gather", collectives::Collective::gather},
    {"scatter", collectives::Collective::scatter},
    {"broadcast", collectives::Collective::broadcast},
    {"all_to_all", collectives::Collective::all_to_all},
    {"reduce_scatter", collectives::Collective::reduce_scatter},
    {"reduce_scatter_block", collectives::Collective::reduce_scatter},
    {"barrier", std::nullopt}};

namespace attribute {

// What Chakra's converters write and simulators read.
inline constexpr std::string_view is_cpu_op = "is_cpu_op", stream = "stream", thread = "tid",
                                  type = "comm_type", size = "comm_size", group = "pg_name";

// Ours: whole nanoseconds, and what a span tells besides. Of a node:
inline constexpr std::string_view start_ns = "start_ns", duration_ns = "duration_ns",
                                  buffer_size = "buffer_bytes", element_size = "element_bytes",
                                  algorithm = "algorithm", kind = "kind";
// Of the file: whose it is, and which moment of its clock is time 0.
inline constexpr std::string_view rank = "rank", world_size = "world_size", origin_ns = "origin_ns";

}  // namespace attribute

// The most that is read: longer messages, or more of them, are no trace that occurs in practice.
inline constexpr std::uint64_t message_bytes_most = std::uint64_t{64} << 20U;
inline constexpr std::uint64_t nodes_most = std::uint64_t{1} << 26U;

}  // namespace paceline::traces::chakra
