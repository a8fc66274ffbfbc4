#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "traces/nccl_tests/nccl_tests.h"

namespace paceline::traces {
namespace {

using collectives::Collective;

struct KnownProgram {
  std::string_view name;
  std::optional<Collective> collective;
};

constexpr KnownProgram programs[] = {{"all_reduce_perf", Collective::all_reduce},
                                     {"reduce_scatter_perf", Collective::reduce_scatter},
                                     {"all_gather_perf", Collective::all_gather},
                                     {"broadcast_perf", Collective::broadcast},
                                     {"reduce_perf", Collective::reduce},
                                     {"alltoall_perf", Collective::all_to_all},
                                     {"alltoallv_perf", std::nullopt},
                                     {"gather_perf", Collective::gather},
                                     {"scatter_perf", Collective::scatter},
                                     {"sendrecv_perf", std::nullopt},
                                     {"hypercube_perf", std::nullopt}};

bool is_of_name(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; }

}  // namespace

std::optional<Program> program_in(std::string_view text) {
  constexpr std::string_view ending = "_perf";
  const KnownProgram* found = nullptr;
  for (auto at = text.find(ending); at != std::string_view::npos; at = text.find(ending, at + 1)) {
    const std::size_t end = at + ending.size();
    if (end < text.size() && is_of_name(text[end])) continue;
    std::size_t start = at;
    while (start > 0 && is_of_name(text[start - 1])) --start;
    const std::string_view name = text.substr(start, end - start);
    const auto* known = std::find_if(std::begin(programs), std::end(programs),
                                     [&](const KnownProgram& one) { return one.name == name; });
    if (known == std::end(programs)) continue;
    if (found != nullptr && found != known) return std::nullopt;  // a list of programs
    found = known;
  }
  return found != nullptr ? std::optional(Program{found->collective}) : std::nullopt;
}

std::optional<Collective> collective_of_row(const RowKind& kind, std::uint32_t ranks) {
  const bool has_root = kind.root && *kind.root >= 0;
  if (has_root && kind.reduces) return Collective::reduce;
  if (kind.bus_factor <= 0 || ranks < 2) return std::nullopt;
  const double part = (ranks - 1.0) / ranks;
  const auto may_be = [&](double factor) {
    return std::abs(kind.bus_factor - factor) <= kind.bus_factor_off;
  };
  if (kind.reduces) {
    if (may_be(2 * part) && !may_be(part)) return Collective::all_reduce;
    // Pairs that exchange have a factor of 1.
    if (may_be(part) && !may_be(1) && !may_be(2 * part)) return Collective::reduce_scatter;
    return std::nullopt;
  }
  // Gather and scatter have a root too. Old releases print none, and all-gathers and all-to-alls
  // look alike; a program's name distinguishes them.
  const bool may_have_root = has_root || !kind.root;
  if (may_have_root && may_be(1) && !may_be(part)) return Collective::broadcast;
  return std::nullopt;
}

// NCCL_VERSION of nccl.h: X * 1000 + Y * 100 + Z up to 2.8, X * 10000 + Y * 100 + Z since.
std::string version_of_code(std::uint64_t code) {
  constexpr std::uint64_t first = 1000, since_2_9 = 10000, most = 1000000;
  if (code < first || code >= most) return "";
  if (code < since_2_9) return fmt::format("{}.{}.{}", code / 1000, code / 100 % 10, code % 100);
  return fmt::format("{}.{}.{}", code / 10000, code / 100 % 100, code % 100);
}

}  // namespace paceline::traces
