#include "traces/ping_pong/ping_pong.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "traces/collective_table/collective_table.h"
#include "traces/mpi_benchmarks/suites.h"
#include "traces/text/format_error.h"
#include "traces/text/lines.h"

namespace paceline::traces {
namespace {

bool says_place(const Words& words) {
  return words.size() > 1 && words[0] == "#" && words[1] == "ping_pong:";
}

// Gathers rows into tables. What was said of one holds for the next until something else is said.
class PingPongTables {
 public:
  // Of what lies between. Throws FormatError where it names no place.
  bool take_comment(std::size_t number, const Words& words) {
    if (!says_place(words)) return false;
    const std::string_view name = words.size() > 2 ? words[2] : "";
    const auto place = from_text<cost::LinkPlace>(name);
    if (!place) {
      throw FormatError(number, fmt::format("says a ping-pong of \"{}\"", shown(name)),
                        "write \"# ping_pong: network\" or \"# ping_pong: intra_node\"");
    }
    close();
    open_.between = place;
    return true;
  }

  bool begin(std::size_t number, std::string_view text, const BenchmarkTitle& title) {
    if (!title.is_ping_pong && !title.collective && !title.is_of_imb) {
      throw FormatError(number, fmt::format("is no ping-pong: \"{}\"", shown(text)),
                        "give the output of osu_latency");
    }
    close();
    return title.is_ping_pong;
  }

  static void take_processes(std::size_t number, std::string_view processes) {
    if (processes == "2") return;
    throw FormatError(number, fmt::format("is of {} processes at a time", shown(processes)),
                      "give a PingPong of 2");
  }

  void take(std::size_t number, std::string_view size, std::string_view time_us) {
    const auto bytes = size == "0" ? std::optional(Bytes(0)) : measured_size(size);
    if (!bytes) return skip(number, fmt::format("a size of \"{}\"", shown(size)));
    const auto time = measured_time(number_of<double>(time_us).value_or(0), 1e-6);
    if (!time) return skip(number, fmt::format("a time of \"{}\"", shown(time_us)));
    add(number, *bytes, *time);
  }
  void add(std::size_t number, Bytes size, Seconds time) {
    open_.rows.push_back({number, size, time});
  }
  void skip(std::size_t number, std::string why) {
    open_.skipped.push_back({number, std::move(why)});
  }
  // What comes next belongs to another table.
  void close() {
    if (open_.rows.empty() && open_.skipped.empty()) return;
    tables_.push_back(open_);
    open_.rows.clear();
    open_.skipped.clear();
  }
  void forget() {
    close();
    open_.between.reset();
  }
  [[nodiscard]] bool has_rows() const { return !open_.rows.empty(); }

  [[nodiscard]] std::vector<PingPong> tables() && {
    close();
    if (tables_.empty()) {
      throw FormatError(0, "has no row of a ping-pong",
                        "give the whole output of osu_latency or of IMB's PingPong, or a table "
                        "with a header size(B),time(us)");
    }
    return std::move(tables_);
  }

 private:
  std::vector<PingPong> tables_;
  PingPong open_;
};

// A ping-pong's title, or such of tests alone that nothing reads.
bool has_ping_pong_or_other(std::string_view text, bool (*has)(std::string_view, IsTitle)) {
  if (has(text, [](const BenchmarkTitle& title) { return title.is_ping_pong; })) return true;
  return has(text, [](const BenchmarkTitle&) { return true; }) &&
         !has(text, [](const BenchmarkTitle& title) { return title.collective.has_value(); });
}

bool is_osu_latency(std::string_view text) { return has_ping_pong_or_other(text, has_osu_title); }
bool is_imb_ping_pong(std::string_view text) { return has_ping_pong_or_other(text, has_imb_title); }

bool is_ping_pong_table(std::string_view text) {
  return contains(text, "ping_pong:") &&
         has_clean_line(text, [](std::string_view line) { return says_place(words_of(line)); });
}

// A row a repetition.
void read_table(std::string_view text, PingPongTables& tables) {
  SizeTimeColumns columns;
  const auto forget = [&] {
    tables.forget();
    columns = {};
  };
  read_whole_lines(text, forget, [&](const CleanLine& line) {
    const Words words = words_of(line.text);
    if (words.empty() || tables.take_comment(line.number, words)) return;
    if (words.size() > 1 && words[0] == "#" && words[1] == "collective:") {
      throw FormatError(line.number, "has a collective in a file of ping-pongs",
                        "give them as two files");
    }
    if (words[0].front() == '#') return;
    if (SizeTimeColumns header(line.number, line.text); !header.empty()) {
      tables.close();
      columns = std::move(header);
    } else if (!columns.empty()) {
      auto row = columns.row_of(line.text, Bytes(0));
      if (!row.why_not.empty()) return tables.skip(line.number, std::move(row.why_not));
      for (const Seconds time : row.times) tables.add(line.number, row.size, time);
    }
  });
}

template <auto read>
std::vector<PingPong> tables_by(std::string_view text) {
  PingPongTables tables;
  read(text, tables);
  return std::move(tables).tables();
}

}  // namespace

const std::vector<PingPongFormat>& ping_pong_formats() {
  static const std::vector<PingPongFormat> formats{
      {"osu_latency", is_osu_latency, tables_by<read_osu<PingPongTables>>},
      {"Intel MPI Benchmarks", is_imb_ping_pong, tables_by<read_imb<PingPongTables>>},
      {"table with a header", is_ping_pong_table, tables_by<read_table>},
  };
  return formats;
}

bool is_ping_pong(std::string_view text) {
  return std::ranges::any_of(ping_pong_formats(),
                             [&](const PingPongFormat& format) { return format.is_one(text); });
}

std::vector<PingPong> read_ping_pongs(std::string_view text) {
  text = plain_text(text);
  for (const PingPongFormat& format : ping_pong_formats()) {
    if (format.is_one(text)) return format.read(text);
  }
  throw FormatError(0, "has no ping-pong",
                    "give the output of osu_latency or of IMB's PingPong, or a table below "
                    "\"# ping_pong: network\"");
}

}  // namespace paceline::traces
