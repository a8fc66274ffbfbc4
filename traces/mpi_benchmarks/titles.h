#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/collectives/plan.h"

// Titles of the tests of the OSU micro-benchmarks and the Intel MPI Benchmarks.
namespace paceline::traces {

struct BenchmarkTitle {
  std::string name;  // "Allreduce", "Multi Latency Test": as messages show it
  bool is_ping_pong = false;
  std::optional<collectives::Collective> collective;
  // OSU: buffers on GPUs. The title of IMB does not say it.
  bool is_on_device = false;
};

// The # before titles may be missing.
//
// "# OSU MPI-CUDA Allreduce Latency Test v7.3" (c/mpi/collective/blocking of release 7.5: BENCHMARK
// of each source), also NCCL in the place of MPI. Tests whose calls do not block are others.
[[nodiscard]] std::optional<BenchmarkTitle> osu_title_of(
    const std::vector<std::string_view>& words);
// "# Benchmarking Allreduce" (src_c/IMB_output.c of IMB 2021).
[[nodiscard]] std::optional<BenchmarkTitle> imb_title_of(
    const std::vector<std::string_view>& words);

// "16" of "# #processes = 16".
[[nodiscard]] std::optional<std::string_view> imb_processes_of(
    const std::vector<std::string_view>& words);

using IsTitle = bool (*)(const BenchmarkTitle&);

// Whether a line of a text, whatever was put before it, is such a title that `is_one` takes.
[[nodiscard]] bool has_osu_title(std::string_view text, IsTitle is_one);
[[nodiscard]] bool has_imb_title(std::string_view text, IsTitle is_one);

// Whether a text has titles of a suite (one of the two functions above) that are no collectives'
// alone: a ping-pong's, or some test's that nothing reads.
[[nodiscard]] bool has_ping_pong_or_other(std::string_view text,
                                          bool (*has)(std::string_view, IsTitle));

}  // namespace paceline::traces
