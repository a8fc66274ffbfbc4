#include "traces/ping_pong/osu_latency.h"

#include <fmt/format.h>

#include <algorithm>

#include "traces/ping_pong/rows.h"
#include "traces/text/format_error.h"

namespace paceline::traces {
namespace {

using Words = std::vector<std::string_view>;

bool is_title_of_osu(const Words& words) {
  return words.size() > 2 && words[0] == "#" && words[1] == "OSU" &&
         std::find(words.begin(), words.end(), "Test") != words.end();
}

// "# OSU MPI Latency Test v5.9" and "# OSU MPI-CUDA Latency Test v7.5". Other words between are of
// collectives, of many pairs at a time, or of messages one way.
bool is_title_of_ping_pong(const Words& words) {
  return words.size() > 4 && (words[2] == "MPI" || words[2].starts_with("MPI-")) &&
         words[3] == "Latency" && words[4] == "Test";
}

void take_row(std::size_t number, const Words& words, PingPongTables& tables) {
  if (words.size() < 2) return tables.skip(number, "the line breaks off");
  if (words.back() == "Fail") return tables.skip(number, "its results are wrong");
  constexpr double us = 1e-6;
  tables.take(number, words[0], words[1], us);
}

}  // namespace

bool is_osu_latency(std::string_view text) {
  return has_line(text, [](std::string_view line) { return is_title_of_osu(words_of(line)); });
}

std::vector<PingPong> read_osu_latency(std::string_view text) {
  PingPongTables tables;
  bool has_title = false;
  for_each_line(text, [&](std::size_t number, std::string_view line) {
    const Words words = words_of(line);
    if (words.empty() || tables.take_place(number, words)) return;
    if (is_title_of_osu(words)) {
      if (!is_title_of_ping_pong(words)) {
        throw FormatError(number, fmt::format("is no ping-pong: \"{}\"", shown(line)),
                          "give the output of osu_latency");
      }
      tables.close();
      has_title = true;
    } else if (has_title && is_whole_number(words[0])) {
      take_row(number, words, tables);
    }
  });
  return std::move(tables).tables();
}

}  // namespace paceline::traces
