#include "traces/ping_pong/imb_ping_pong.h"

#include <fmt/format.h>

#include "traces/mpi_benchmarks/tables.h"
#include "traces/mpi_benchmarks/titles.h"
#include "traces/ping_pong/rows.h"
#include "traces/text/clean_text.h"
#include "traces/text/format_error.h"

namespace paceline::traces {
namespace {

using Words = std::vector<std::string_view>;

// "#bytes #repetitions t[usec] Mbytes/sec"; -multi has other columns of time.
bool is_header(const Words& words) {
  return words.size() > 2 && words[0] == "#bytes" && words[1] == "#repetitions" &&
         words[2] == "t[usec]";
}

class ImbReader {
 public:
  void take(std::size_t number, const Words& words) {
    if (words.empty() || tables_.take_place(number, words)) return;
    if (const auto title = imb_title_of(words)) {
      tables_.close();
      is_ping_pong_ = title->is_ping_pong;
      has_header_ = false;
    } else if (const auto processes = imb_processes_of(words); is_ping_pong_ && processes) {
      if (*processes != "2") {
        throw FormatError(number, fmt::format("is of {} processes at a time", shown(*processes)),
                          "give a PingPong of 2");
      }
    } else if (is_header(words)) {
      has_header_ = is_ping_pong_;
    } else if (has_header_ && is_whole_number(words[0])) {
      take_row(number, words);
    } else if (words[0].front() == '#' && tables_.has_rows()) {
      has_header_ = false;  // another program's
    }
  }
  void begin_text() {
    tables_.forget();
    is_ping_pong_ = has_header_ = false;
  }
  [[nodiscard]] std::vector<PingPong> tables() && { return std::move(tables_).tables(); }

 private:
  void take_row(std::size_t number, const Words& words) {
    constexpr std::size_t columns = 4;
    if (words.size() < columns) return tables_.skip(number, "the line breaks off");
    const bool is_time = number_of<double>(words[2]).has_value();
    if (is_time && !are_whole_times(words, 2, columns)) {
      return tables_.skip(number, "the line breaks off");
    }
    constexpr double us = 1e-6;
    tables_.take(number, words[0], words[2], us);
  }

  PingPongTables tables_;
  bool is_ping_pong_ = false, has_header_ = false;
};

}  // namespace

bool is_imb_ping_pong(std::string_view text) { return has_ping_pong_or_other(text, has_imb_title); }

std::vector<PingPong> read_imb_ping_pong(std::string_view text) {
  ImbReader reader;
  read_whole_lines(text, reader,
                   [&](const CleanLine& line) { reader.take(line.number, words_of(line.text)); });
  return std::move(reader).tables();
}

}  // namespace paceline::traces
