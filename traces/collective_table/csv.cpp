#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "traces/collective_log/comments.h"
#include "traces/collective_table/collective_table.h"
#include "traces/text/clean_text.h"
#include "traces/text/format_error.h"
#include "traces/text/lines.h"

namespace paceline::traces {
namespace {

constexpr std::string_view size_column = "size(B)";

// The header's cells; none of a line that is no header.
std::vector<std::string_view> header_of(std::string_view line) {
  constexpr std::size_t columns_most = 4096;
  if (line.empty() || line.front() == '#' || line.find(size_column) == std::string_view::npos) {
    return {};
  }
  auto cells = cells_of(line, columns_most);
  const bool has_size = std::find(cells.begin(), cells.end(), size_column) != cells.end();
  const bool has_time = std::any_of(cells.begin(), cells.end(),
                                    [](std::string_view cell) { return time_unit_of(cell) > 0; });
  if (!has_size || !has_time) cells.clear();
  return cells;
}

// A table ends where the next header or comment stands.
class TableReader {
 public:
  void take(std::size_t number, std::string_view line) {
    if (line.find_first_not_of(" \t") == std::string_view::npos) return;
    if (line.front() == '#') return take_comment(comment_of(words_of(line)));
    if (const auto header = header_of(line); !header.empty()) {
      close();
      take_header(number, header);
    } else if (!columns_.empty()) {
      take_row(number, cells_of(line, columns_.size() + 1));
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

  void take_header(std::size_t number, const std::vector<std::string_view>& header) {
    if (std::count(header.begin(), header.end(), size_column) > 1) {
      throw FormatError(number, fmt::format("has two columns {}", size_column),
                        "give one table below the other, each with its header");
    }
    columns_.clear();
    for (const std::string_view cell : header) {
      columns_.push_back(cell == size_column ? -1 : time_unit_of(cell));
    }
  }

  void take_row(std::size_t number, const std::vector<std::string_view>& cells) {
    const auto skip = [&](const std::string& why) { log_.skipped.push_back({number, why}); };
    if (cells.size() < columns_.size()) return skip("the line breaks off");
    if (cells.size() > columns_.size() && number_of<double>(cells.back())) {
      return skip("has more cells than the header; a comma inside a number parts it");
    }
    CollectiveLog::Row row{number, Bytes(0), {}};
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (columns_[i] < 0) {
        const auto size = measured_size(cells[i]);
        if (!size) return skip(fmt::format("a size of \"{}\"", shown(cells[i])));
        row.size = *size;
      } else if (columns_[i] > 0) {
        const auto time = measured_time(number_of<double>(cells[i]).value_or(0), columns_[i]);
        if (!time) return skip(fmt::format("a time of \"{}\"", shown(cells[i])));
        row.times.push_back(*time);
      }
    }
    log_.rows.push_back(std::move(row));
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
  std::vector<double> columns_;  // -1: size; 0: passed over; else the seconds of a unit
};

}  // namespace

bool is_collective_table(std::string_view text) {
  if (text.find("time(") == std::string_view::npos) return false;
  return has_clean_line(text, [](std::string_view line) { return !header_of(line).empty(); });
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
    const bool has_commas = line.find(',') != line.npos;
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
