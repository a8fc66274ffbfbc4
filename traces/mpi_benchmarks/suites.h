#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/collectives/plan.h"
#include "traces/text/clean_text.h"
#include "traces/text/lines.h"

// Outputs of the OSU micro-benchmarks and the Intel MPI Benchmarks: titles, then sizes and times.
namespace paceline::traces {

struct BenchmarkTitle {
  std::string name;  // "Allreduce", "Multi Latency Test": as messages show it
  bool is_ping_pong = false;
  std::optional<collectives::Collective> collective;
  bool is_of_imb = false;
  bool is_on_device = false;  // OSU: buffers on GPUs. The title of IMB does not say it.
};

// The # before titles may be missing. "# OSU MPI-CUDA Allreduce Latency Test v7.3"
// (c/mpi/collective/blocking of release 7.5: BENCHMARK of each source), also NCCL for MPI. Tests of
// calls that do not block are others.
[[nodiscard]] std::optional<BenchmarkTitle> osu_title_of(const Words& words);
// "# Benchmarking Allreduce" (src_c/IMB_output.c of IMB 2021).
[[nodiscard]] std::optional<BenchmarkTitle> imb_title_of(const Words& words);

// "16" of "# #processes = 16".
[[nodiscard]] std::optional<std::string_view> imb_processes_of(const Words& words);

using IsTitle = bool (*)(const BenchmarkTitle&);

// Whether a line of a text, whatever was put before it, is such a title that `is_one` takes.
[[nodiscard]] bool has_osu_title(std::string_view text, IsTitle is_one);
[[nodiscard]] bool has_imb_title(std::string_view text, IsTitle is_one);

// Why a row of at least `columns` words, its time in the word `time`, is none; empty: it is one.
// Both suites print two decimals of each number from `time` on (FLOAT_PRECISION of OSU's
// benchmarks, "%.2f" of IMB_output.c): others were cut.
[[nodiscard]] const char* why_no_row(const Words& words, std::size_t time, std::size_t columns);

// Reads into `tables`, which have
//   bool take_comment(number, words);            what may stand before a table: whether it is that
//   bool begin(number, text, title);             whether they want the rows below
//   void take_processes(number, word);           IMB: of those rows
//   void take(number, size, time_us);            a row
//   void skip(number, why); bool has_rows();
//   void forget();                               what comes next is another text
template <class Tables>
void read_osu(std::string_view text, Tables& tables) {
  bool is_wanted = false;
  const auto forget = [&] {
    tables.forget();
    is_wanted = false;
  };
  read_whole_lines(text, forget, [&](const CleanLine& line) {
    const Words words = words_of(line.text);
    if (words.empty() || tables.take_comment(line.number, words)) return;
    if (const auto title = osu_title_of(words)) {
      is_wanted = tables.begin(line.number, line.text, *title);
    } else if (is_wanted && is_whole_number(words[0])) {
      // Size, mean; with -f the least, the most and how many; with -c whether results are right.
      const std::string_view wrong = words.back() == "Fail" ? "its results are wrong" : "";
      const std::string why(wrong.empty() ? why_no_row(words, 1, 2) : wrong);
      why.empty() ? tables.take(line.number, words[0], words[1]) : tables.skip(line.number, why);
    } else if (words[0].front() == '#' && tables.has_rows()) {
      is_wanted = false;  // another program's
    }
  });
}

template <class Tables>
void read_imb(std::string_view text, Tables& tables) {
  bool is_wanted = false;
  std::size_t time = 0, columns = 0;  // of the header; 0: there was none
  const auto forget = [&] {
    tables.forget();
    is_wanted = false;
    columns = 0;
  };
  read_whole_lines(text, forget, [&](const CleanLine& line) {
    const Words words = words_of(line.text);
    if (words.empty() || tables.take_comment(line.number, words)) return;
    if (const auto title = imb_title_of(words)) {
      is_wanted = tables.begin(line.number, line.text, *title);
      // "#bytes #repetitions t[usec] Mbytes/sec", and of collectives t_min, t_max, t_avg.
      time = title->is_ping_pong ? 2 : 4;
      columns = 0;
    } else if (const auto processes = imb_processes_of(words)) {
      if (is_wanted) tables.take_processes(line.number, *processes);
    } else if (words[0] == "#bytes") {
      const std::string_view name = time == 2 ? "t[usec]" : "t_avg[usec]";
      if (is_wanted && words.size() > time && words[time] == name) columns = time == 2 ? 4 : 5;
    } else if (columns > 0 && is_whole_number(words[0])) {
      const std::string why = why_no_row(words, 2, columns);
      why.empty() ? tables.take(line.number, words[0], words[time]) : tables.skip(line.number, why);
    } else if (words[0].front() == '#' && tables.has_rows()) {
      columns = 0;  // another program's
    }
  });
}

}  // namespace paceline::traces
