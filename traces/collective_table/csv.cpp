#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "traces/collective_log/lines.h"
#include "traces/collective_table/collective_table.h"

namespace paceline::traces {
namespace {

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  while (true) {
    const std::size_t comma = line.find(',');
    std::string_view cell = line.substr(0, comma);
    while (!cell.empty() && (cell.front() == ' ' || cell.front() == '\t')) cell.remove_prefix(1);
    while (!cell.empty() && (cell.back() == ' ' || cell.back() == '\t')) cell.remove_suffix(1);
    cells.push_back(cell);
    if (comma == std::string_view::npos) return cells;
    line.remove_prefix(comma + 1);
  }
}

// Seconds of a time column's unit; 0 for a column of something else.
double unit_of(std::string_view name) {
  constexpr std::pair<std::string_view, double> units[] = {
      {"time(s)", 1.0}, {"time(ms)", 1e-3}, {"time(us)", 1e-6}, {"time(ns)", 1e-9}};
  for (const auto& [known, seconds] : units) {
    if (name == known) return seconds;
  }
  return 0;
}

constexpr std::string_view size_column = "size(B)";

bool is_header(std::string_view line) {
  bool has_size = false, has_time = false;
  for (const std::string_view cell : cells_of(line)) {
    has_size = has_size || cell == size_column;
    has_time = has_time || unit_of(cell) > 0;
  }
  return has_size && has_time;
}

class TableReader {
 public:
  void take(std::size_t number, std::string_view line) {
    if (line.empty()) return;
    if (line.front() == '#') return take_comment(line);
    if (columns_.empty()) {
      if (is_header(line)) take_header(line);
      return;
    }
    take_row(number, cells_of(line));
  }

  std::vector<CollectiveLog> logs() && { return {std::move(log_)}; }

 private:
  void take_comment(std::string_view line) {
    const auto words = words_of(line);
    if (words.size() < 3) return;
    const auto number = number_of<std::uint32_t>(words[2]);
    constexpr std::uint32_t most = 1U << 20;
    if (number && *number > 0 && *number <= most) {
      if (words[1] == "GPUs:") log_.ranks = *number;
      if (words[1] == "nodes:") log_.nodes = *number;
    }
    if (words[1] != "collective:") return;
    using collectives::Collective;
    for (const auto collective :
         {Collective::all_reduce, Collective::reduce_scatter, Collective::all_gather,
          Collective::broadcast, Collective::reduce, Collective::all_to_all}) {
      if (words[2] == collectives::to_text(collective)) log_.collective = collective;
    }
  }

  void take_header(std::string_view line) {
    for (const std::string_view cell : cells_of(line)) {
      columns_.push_back(cell == size_column ? -1 : unit_of(cell));
    }
  }

  void take_row(std::size_t number, const std::vector<std::string_view>& cells) {
    const auto skip = [&](const std::string& why) { log_.skipped.push_back({number, why}); };
    if (cells.size() < columns_.size()) return skip("the line breaks off");
    CollectiveLog::Row row{number, Bytes(0), {}};
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (columns_[i] < 0) {
        const auto size = number_of<std::uint64_t>(cells[i]);
        if (!size) return skip("has no size");
        row.size = Bytes(*size);
      } else if (columns_[i] > 0) {
        const auto time = positive_of(cells[i]);
        if (!time) return skip(fmt::format("a time of \"{}\"", cells[i]));
        row.times.push_back(Seconds(*time * columns_[i]));
      }
    }
    if (row.size.value() == 0) return skip("a size of 0");
    log_.rows.push_back(std::move(row));
  }

  CollectiveLog log_;
  std::vector<double> columns_;  // -1: size; 0: passed over; else the seconds of a unit
};

}  // namespace

bool is_collective_table(std::string_view text) {
  bool found = false;
  for_each_line(text, [&](std::size_t, std::string_view line) {
    found = found || (!line.empty() && line.front() != '#' && is_header(line));
  });
  return found;
}

std::vector<CollectiveLog> read_collective_table(std::string_view text) {
  TableReader reader;
  for_each_line(text,
                [&](std::size_t number, std::string_view line) { reader.take(number, line); });
  return std::move(reader).logs();
}

}  // namespace paceline::traces
