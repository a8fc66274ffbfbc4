// How fast logs, tables, topologies and lines of JSON are read, on one core: texts of 64 MB that
// are made here. The time counted is the processor's.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdio>
#include <string>

#include "traces/formats/formats.h"
#include "traces/text/clean_text.h"
#include "traces/text/format_error.h"
#include "traces/topology/node_topology.h"

namespace {

constexpr std::size_t text_length = 64'000'000;
constexpr int readings = 5;

template <class... Values>
std::string printed(const char* format, Values... values) {
  char line[512];
  const int length = std::snprintf(line, sizeof line, format, values...);
  return {line, static_cast<std::size_t>(length)};
}

// All-reduces of eight GPUs: 20 us and 200 GB/s, so that size, time and bandwidths agree.
std::string log_row(std::uint64_t size) {
  const double time_us = 20 + static_cast<double>(size) / 200e3;
  const double algbw = static_cast<double>(size) / time_us / 1e3;
  return printed(
      "%12lu  %12lu     float     sum      -1  %7.2f  %6.2f  %6.2f      0  %7.2f  %6.2f  %6.2f     "
      " "
      "0\n",
      size, size / 4, time_us, algbw, algbw * 1.75, time_us, algbw, algbw * 1.75);
}

// One run of nccl-tests: 8 ranks, 20 sizes.
std::string run_of_nccl_tests() {
  std::string text =
      "# nccl-tests version 2.17.2 nccl-headers=22707 nccl-library=22707\n"
      "# Collective test starting: all_reduce_perf\n"
      "# nThread 1 nGpus 1 minBytes 1024 maxBytes 536870912 step: 2(factor) warmup iters: 5 iters: "
      "20 agg iters: 1 validation: 1 graph: 0\n#\n# Using devices\n";
  for (int rank = 0; rank < 8; ++rank) {
    text += printed(
        "#  Rank %2d Group  0 Pid %6d on     node-a device %2d [0000:%02x:00] NVIDIA "
        "A100-SXM4-40GB\n",
        rank, 4000 + rank, rank, 16 * rank + 7);
  }
  text +=
      "#\n#                                                              out-of-place              "
      "         in-place          \n"
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     "
      "time   algbw   busbw #wrong\n"
      "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            "
      "(us)  (GB/s)  (GB/s)       \n";
  for (std::uint64_t size = 1024; size <= 536'870'912; size *= 2) text += log_row(size);
  return text + "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 100.0\n#\n";
}

std::string repeated(const std::string& part) {
  std::string text;
  text.reserve(text_length + part.size());
  while (text.size() < text_length) text += part;
  return text;
}

// Each line changed, or with more before it.
template <class Change>
std::string of_lines(const std::string& text, const Change& change) {
  std::string out;
  for (std::size_t at = 0, number = 0; at < text.size(); ++number) {
    const std::size_t end = text.find('\n', at);
    out += change(number, text.substr(at, end + 1 - at));
    at = end + 1;
  }
  return out;
}

std::string with_prefixes() {
  return of_lines(run_of_nccl_tests(),
                  [](std::size_t, const std::string& line) { return "[1,0]<stdout>:" + line; });
}

std::string with_messages() {
  return of_lines(run_of_nccl_tests(), [](std::size_t number, const std::string& line) {
    return line + printed(
                      "node-a:4000:%zu [0] NCCL INFO Channel %02zu/0 : 0[7] -> 1[17] via P2P/CUMEM/"
                      "read\n",
                      4100 + number, number % 16);
  });
}

std::string table_part() {
  std::string text = "# collective: all_reduce\n# GPUs: 8\n# nodes: 1\nsize(B),time(us),time(us)\n";
  for (std::uint64_t size = 1024; size <= 536'870'912; size *= 2) {
    const double time_us = 20 + static_cast<double>(size) / 200e3;
    text += printed("%lu,%.2f,%.2f\n", size, time_us, time_us);
  }
  return text + "\n";
}

std::string line_of_inspector(std::uint64_t call, int rank) {
  return printed(
      R"({"header": {"id": "0x51aa0001", "rank": %d, "n_ranks": 2, "nnodes": 1}, "metadata": )"
      R"({"inspector_output_format_version": "v4.0", "git_rev": "", "rec_mechanism": )"
      R"("profiler_plugin", "dump_timestamp_us": 17600000%08lu, "hostname": "node-a", "pid": 7000}, )"
      R"("coll_perf": {"coll": "AllReduce", "coll_sn": %lu, "coll_msg_size_bytes": %lu, )"
      R"("coll_exec_time_us": %lu, "coll_algobw_gbs": 4.315128, "coll_busbw_gbs": 4.315128}})"
      "\n",
      rank, call, call, 1048576UL << (call % 6), 243UL << (call % 6));
}

std::string lines_of_inspector() {
  std::string text;
  for (std::uint64_t call = 1; text.size() < text_length; ++call) {
    for (const int rank : {0, 1}) text += line_of_inspector(call, rank);
  }
  return text;
}

// The largest matrix that is read: 1,024 GPUs, eight a switch.
std::string matrix() {
  constexpr int gpus = 1024;
  std::string text;
  for (int i = 0; i < gpus; ++i) text += printed("\tGPU%d", i);
  text += "\tCPU Affinity\tNUMA Affinity\n";
  for (int i = 0; i < gpus; ++i) {
    text += printed("GPU%d", i);
    for (int j = 0; j < gpus; ++j) text += i == j ? "\t X " : i / 8 == j / 8 ? "\tPIX" : "\tSYS";
    text += "\t0-63\t0\n";
  }
  return text;
}

void read_logs(benchmark::State& state, const std::string& text) {
  for (auto _ : state) {
    try {
      benchmark::DoNotOptimize(paceline::traces::read_collective_logs(text));
    } catch (const paceline::traces::FormatError& error) {
      state.SkipWithError(error.what());
      return;
    }
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}

void read_matrix(benchmark::State& state, const std::string& text) {
  for (auto _ : state) benchmark::DoNotOptimize(paceline::traces::read_node_topology(text));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}

void clean_lines(benchmark::State& state, const std::string& text) {
  for (auto _ : state) benchmark::DoNotOptimize(paceline::traces::CleanText(text).lines().size());
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}

template <class Read>
void add(const char* name, Read read, std::string text) {
  benchmark::RegisterBenchmark(
      name, [read, text = std::move(text)](benchmark::State& state) { read(state, text); })
      ->Unit(benchmark::kMillisecond)
      ->Iterations(1)
      ->Repetitions(readings)
      ->ReportAggregatesOnly(true);
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  add("lines/clean", clean_lines, repeated(run_of_nccl_tests()));
  add("lines/tag-output", clean_lines, repeated(with_prefixes()));
  add("nccl-tests/clean", read_logs, repeated(run_of_nccl_tests()));
  add("nccl-tests/tag-output", read_logs, repeated(with_prefixes()));
  add("nccl-tests/INFO lines", read_logs, repeated(with_messages()));
  add("table", read_logs, repeated(table_part()));
  add("inspector", read_logs, lines_of_inspector());
  add("matrix of 1,024 GPUs", read_matrix, matrix());
  benchmark::RunSpecifiedBenchmarks();
}
