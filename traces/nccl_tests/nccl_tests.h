#pragma once

#include "traces/collective_log/collective_log.h"

// What NVIDIA's nccl-tests print. Source: nccl-tests 2.0 to 2.17, src/common.cu: a table of size,
// count, type, redop, root (not in old releases), then time, algbw, busbw and wrong elements (old:
// the largest error) out of place and in place; -J: as JSON. And what `paceline collective
// --measure` prints, without its own columns behind.
namespace paceline::traces {

// The program's name stands in newer logs and in the command before a table; else the collective
// follows from redop, root and busbw / algbw. Ranks and nodes are listed, or said by "# GPUs: 8"
// and "# nodes: 1" comments; not told for several groups. In JSON, `line` counts the results.
[[nodiscard]] bool is_nccl_tests_text(std::string_view text);
[[nodiscard]] std::vector<CollectiveLog> read_nccl_tests_text(std::string_view text);

[[nodiscard]] bool is_nccl_tests_json(std::string_view text);
[[nodiscard]] std::vector<CollectiveLog> read_nccl_tests_json(std::string_view text);

// One of nccl-tests' programs, such as all_reduce_perf.
struct Program {
  std::string_view name;                              // without _perf
  std::optional<collectives::Collective> collective;  // nullopt: one that has no Collective

  friend bool operator==(const Program&, const Program&) = default;
};
// nullopt where the text names none, or several.
[[nodiscard]] std::optional<Program> program_in(std::string_view text);

// Which collective a table is of, by the programs that may have made it, the nearest last, unless
// rows exclude them. Sets `collective`, `other`, `may_be`, `known_by`, and ranks where rows tell
// another number than was listed (`are_listed`) or nothing was; notes say why. Returns which of the
// programs it is of; nullopt for none.
std::optional<std::size_t> identify(const std::vector<Program>& programs, bool are_listed,
                                    CollectiveLog& log);

}  // namespace paceline::traces
