#pragma once

#include "traces/collective_log/collective_log.h"

// What NVIDIA's nccl-tests print. Source: nccl-tests 2.0 to 2.17, src/common.cu: a
// table of size, count, type, redop, root (not in old releases), then time, algbw, busbw and wrong
// elements (old: the largest error) out of place and in place; -J writes the same as JSON. And what
// `paceline collective --measure` prints, whose own columns behind those are not read.
namespace paceline::traces {

// The program's name stands in newer logs and in the command before a table; without it the
// collective follows from redop, root and busbw / algbw. Ranks and nodes are those that the log
// lists, or "# GPUs: 8" and "# nodes: 1" comments; not told where it lists several groups. In JSON,
// `line` counts the results.
[[nodiscard]] bool is_nccl_tests_text(std::string_view text);
[[nodiscard]] std::vector<CollectiveLog> read_nccl_tests_text(std::string_view text);

[[nodiscard]] bool is_nccl_tests_json(std::string_view text);
[[nodiscard]] std::vector<CollectiveLog> read_nccl_tests_json(std::string_view text);

// One of nccl-tests' programs, such as all_reduce_perf.
struct Program {
  std::optional<collectives::Collective> collective;  // nullopt: one that has no Collective
};
// nullopt where the text names none, or several.
[[nodiscard]] std::optional<Program> program_in(std::string_view text);

// What a row says besides its times, from which a reader has to infer the collective.
struct RowKind {
  bool reduces = false;
  std::optional<std::int64_t> root;  // -1: none
  double bus_factor = 0;             // busbw / algbw; 0: not recorded
  double bus_factor_off = 0;         // at most, by the decimals of the two
};
// nullopt where it could be several. Pairs that exchange (sendrecv_perf) look like an all-reduce of
// two ranks, and are taken for one.
[[nodiscard]] std::optional<collectives::Collective> collective_of_row(const RowKind& kind,
                                                                       std::uint32_t ranks);

// A version as NCCL's headers number it: 2804 is 2.8.4, 22903 is 2.29.3. Empty for no version.
[[nodiscard]] std::string version_of_code(std::uint64_t code);

}  // namespace paceline::traces
