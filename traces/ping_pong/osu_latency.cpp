#include "traces/ping_pong/osu_latency.h"

#include <fmt/format.h>

#include <utility>

#include "traces/mpi_benchmarks/tables.h"
#include "traces/mpi_benchmarks/titles.h"
#include "traces/ping_pong/rows.h"
#include "traces/text/clean_text.h"
#include "traces/text/format_error.h"

namespace paceline::traces {
namespace {

using Words = std::vector<std::string_view>;

void take_row(std::size_t number, const Words& words, PingPongTables& tables) {
  if (words.size() < 2) return tables.skip(number, "the line breaks off");
  if (words.back() == "Fail") return tables.skip(number, "its results are wrong");
  if (!are_whole_times(words, 1, 2)) return tables.skip(number, "the line breaks off");
  constexpr double us = 1e-6;
  tables.take(number, words[0], words[1], us);
}

}  // namespace

bool is_osu_latency(std::string_view text) { return has_ping_pong_or_other(text, has_osu_title); }

std::vector<PingPong> read_osu_latency(std::string_view text) {
  PingPongTables tables;
  bool is_ping_pong = false;
  const CleanText clean(text);
  std::size_t writer = 0;
  for (const CleanLine& line : clean.lines()) {
    if (line.is_mended) continue;
    if (std::exchange(writer, line.writer) != line.writer || line.follows_loss) {
      tables.forget();
      is_ping_pong = false;
    }
    const Words words = words_of(line.text);
    if (words.empty() || tables.take_place(line.number, words)) continue;
    if (const auto title = osu_title_of(words)) {
      if (!title->is_ping_pong && !title->collective) {
        throw FormatError(line.number, fmt::format("is no ping-pong: \"{}\"", shown(line.text)),
                          "give the output of osu_latency");
      }
      tables.close();
      is_ping_pong = title->is_ping_pong;
    } else if (is_ping_pong && is_whole_number(words[0])) {
      take_row(line.number, words, tables);
    } else if (words[0].front() == '#' && tables.has_rows()) {
      is_ping_pong = false;  // another program's
    }
  }
  return std::move(tables).tables();
}

}  // namespace paceline::traces
