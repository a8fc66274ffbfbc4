#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "traces/collective_log/collective_log.h"
#include "traces/collective_table/collective_table.h"
#include "traces/text/clean_text.h"
#include "traces/text/format_error.h"
#include "traces/text/lines.h"

namespace paceline::traces {
namespace {

constexpr std::string_view size_column = "size(B)";

// 0 for a column of something else.
double time_unit_of(std::string_view name) {
  constexpr std::pair<std::string_view, double> units[] = {
      {"time(s)", 1.0}, {"time(ms)", 1e-3}, {"time(us)", 1e-6}, {"time(ns)", 1e-9}};
  return value_of(name, units).value_or(0);
}

// By column of a header; none of a line that is no header.
std::vector<double> units_of(std::string_view line) {
  constexpr std::size_t columns_most = 4096;
  std::vector<double> units;
  if (line.empty() || line.front() == '#' || !contains(line, size_column)) return units;
  for (const std::string_view cell : cells_of(line, columns_most)) {
    units.push_back(cell == size_column ? -1 : time_unit_of(cell));
  }
  const bool has_time = std::ranges::any_of(units, [](double unit) { return unit > 0; });
  if (!has_time || std::ranges::count(units, -1.0) == 0) units.clear();
  return units;
}

// A table ends where the next header or comment stands.
class TableReader {
 public:
  void take(std::size_t number, std::string_view line) {
    if (line.find_first_not_of(" \t") == std::string_view::npos) return;
    if (line.front() == '#') return take_comment(comment_of(words_of(line)));
    if (SizeTimeColumns columns(number, line); !columns.empty()) {
      close();
      columns_ = std::move(columns);
    } else if (!columns_.empty()) {
      auto [size, times, why_not] = columns_.row_of(line, Bytes(1));
      if (why_not.empty()) {
        log_.rows.push_back({number, size, std::move(times)});
      } else {
        log_.skipped.push_back({number, std::move(why_not)});
      }
    }
  }

  std::vector<CollectiveLog> logs() && {
    close();
    return std::move(logs_);
  }

 private:
  void take_comment(const Comment& said) {
    if (!said.says_something()) return;
    close();
    if (said.ranks) log_.ranks = *said.ranks;
    if (said.nodes) log_.nodes = *said.nodes;
    if (said.collective) log_.collective = said.collective;
  }

  // Comments of a table hold for the next one until others replace them.
  void close() {
    if (log_.rows.empty() && log_.skipped.empty()) return;
    logs_.push_back(log_);
    log_.rows.clear();
    log_.skipped.clear();
  }

  std::vector<CollectiveLog> logs_;
  CollectiveLog log_;
  SizeTimeColumns columns_;
};

}  // namespace

SizeTimeColumns::SizeTimeColumns(std::size_t number, std::string_view line)
    : units_(units_of(line)) {
  if (std::ranges::count(units_, -1.0) < 2) return;
  throw FormatError(number, fmt::format("has two columns {}", size_column),
                    "give one table below the other, each with its header");
}

bool SizeTimeColumns::are_in(std::string_view line) { return !units_of(line).empty(); }

SizeTimeColumns::Row SizeTimeColumns::row_of(std::string_view line, Bytes least) const {
  const auto cells = cells_of(line, units_.size() + 1);
  if (cells.size() < units_.size()) return {{}, {}, "the line breaks off"};
  if (cells.size() > units_.size() && number_of<double>(cells.back())) {
    return {{}, {}, "has more cells than the header; a comma inside a number parts it"};
  }
  Row row;
  for (std::size_t i = 0; i < units_.size(); ++i) {
    if (units_[i] < 0) {
      const bool is_empty = least == Bytes(0) && cells[i] == "0";
      const auto size = is_empty ? least : measured_size(cells[i]);
      if (!size) return {{}, {}, fmt::format("a size of \"{}\"", shown(cells[i]))};
      row.size = *size;
    } else if (units_[i] > 0) {
      const auto time = measured_time(number_of<double>(cells[i]).value_or(0), units_[i]);
      if (!time) return {{}, {}, fmt::format("a time of \"{}\"", shown(cells[i]))};
      row.times.push_back(*time);
    }
  }
  return row;
}

bool is_collective_table(std::string_view text) {
  if (!contains(text, "time(")) return false;
  return has_clean_line(text, SizeTimeColumns::are_in);
}

std::vector<CollectiveLog> read_collective_table(std::string_view text) {
  const CleanText clean(text);
  std::vector<CollectiveLog> logs;
  for (const std::span<const CleanLine> writer : clean.by_writer()) {
    TableReader reader;
    for (const CleanLine& line : writer) {
      if (!line.is_mended) reader.take(line.number, line.text);
    }
    std::ranges::move(std::move(reader).logs(), std::back_inserter(logs));
  }
  if (logs.empty()) throw FormatError(0, "has a header and no rows", "give the whole table");
  return logs;
}

std::string hint_for_table(std::string_view text) {
  constexpr std::size_t looked_at = 65536, rows_least = 3, cells_least = 2, columns_most = 64;
  std::size_t rows = 0, columns = 0;
  for_each_line(text.substr(0, looked_at), [&](std::size_t, std::string_view line) {
    const bool has_commas = contains(line, ',');
    const auto cells = has_commas ? cells_of(line, columns_most) : words_of(line);
    const auto numbers = static_cast<std::size_t>(std::ranges::count_if(
        cells, [](std::string_view cell) { return number_of<double>(cell).has_value(); }));
    if (rows >= rows_least || numbers < cells_least || numbers * 2 <= cells.size()) return;
    rows = cells.size() == columns ? rows + 1 : 1;
    columns = cells.size();
  });
  if (rows < rows_least) return "";
  return "of a table of collectives write the header size(B),time(us) and its rows with commas, a "
         "table for each number of ranks, below # collective: all_reduce, # GPUs: 8 and # nodes: 1";
}

}  // namespace paceline::traces
