#include <cmath>
#include <utility>

#include "traces/nccl_tests/nccl_tests.h"

namespace paceline::traces {

using collectives::Collective;

std::optional<Collective> collective_of_program(std::string_view name) {
  constexpr std::pair<std::string_view, Collective> programs[] = {
      {"all_reduce_perf", Collective::all_reduce},
      {"reduce_scatter_perf", Collective::reduce_scatter},
      {"all_gather_perf", Collective::all_gather},
      {"broadcast_perf", Collective::broadcast},
      {"reduce_perf", Collective::reduce},
      {"alltoall_perf", Collective::all_to_all},
  };
  const auto is_of_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  };
  for (const auto& [program, collective] : programs) {
    for (auto at = name.find(program); at != std::string_view::npos;
         at = name.find(program, at + 1)) {
      const std::size_t end = at + program.size();
      const bool starts = at == 0 || !is_of_name(name[at - 1]);
      const bool ends = end == name.size() || !is_of_name(name[end]);
      if (starts && ends) return collective;
    }
  }
  return std::nullopt;
}

std::optional<Collective> collective_of_row(const RowKind& kind, std::uint32_t ranks) {
  if (kind.root && *kind.root >= 0) {
    return kind.reduces ? Collective::reduce : Collective::broadcast;
  }
  if (kind.bus_factor <= 0 || ranks < 2) return std::nullopt;
  const double part = (ranks - 1.0) / ranks;
  constexpr double near = 0.04;  // busbw has two decimals
  if (kind.reduces) {
    if (std::abs(kind.bus_factor - 2 * part) < near) return Collective::all_reduce;
    if (std::abs(kind.bus_factor - part) < near) return Collective::reduce_scatter;
    return std::nullopt;
  }
  // Old releases print no root: a broadcast has a factor of 1. All-gathers and all-to-alls look
  // alike; a program's name tells them apart.
  if (!kind.root && std::abs(kind.bus_factor - 1) < near && part < 1 - near) {
    return Collective::broadcast;
  }
  return std::nullopt;
}

}  // namespace paceline::traces
