#include "traces/nsys/stats_tables.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "traces/text/clean_text.h"
#include "traces/text/lines.h"

namespace paceline::traces::nsys {
namespace {

constexpr std::size_t columns_most = 32;  // cuda_gpu_trace has 21
constexpr std::size_t cell_most = 4096;

// Cells with commas in them are quoted, and quotes in these doubled.
std::vector<std::string> split(std::string_view line, char separator) {
  std::vector<std::string> cells;
  std::size_t at = 0;
  while (cells.size() < columns_most) {
    std::string& cell = cells.emplace_back();
    if (at < line.size() && line[at] == '"') {
      for (++at; at < line.size(); ++at) {
        if (line[at] == '"' && (at + 1 >= line.size() || line[at + 1] != '"')) break;
        if (line[at] == '"') ++at;
        if (cell.size() < cell_most) cell += line[at];
      }
      at = std::min(line.find(separator, std::min(at, line.size())), line.size());
    } else {
      const std::size_t end = std::min(line.find(separator, at), line.size());
      cell = trimmed(line.substr(at, std::min(end - at, cell_most)));
      at = end;
    }
    if (at >= line.size()) break;
    ++at;
  }
  return cells;
}

std::vector<std::string> split_by_blanks(std::string_view line, std::size_t most) {
  std::vector<std::string> cells;
  line = trimmed(line);
  while (!line.empty() && cells.size() < most) {
    const std::size_t end =
        cells.size() + 1 == most ? line.size() : std::min(line.find("  "), line.size());
    cells.emplace_back(trimmed(line.substr(0, std::min(end, cell_most))));
    line = trimmed(line.substr(end));
  }
  return cells;
}

Column column_of(std::string_view text) {
  Column column;
  const std::size_t unit = text.find('(');
  column.name = in_lower(trimmed(text.substr(0, unit)));
  // "Average" of 2021 is "Avg" today.
  constexpr std::pair<std::string_view, std::string_view> old_names[] = {
      {"average", "avg"}, {"minimum", "min"}, {"maximum", "max"}, {"operations", "count"}};
  if (const auto name = value_of(column.name, old_names)) column.name = *name;
  constexpr std::pair<std::string_view, double> units[] = {
      {"(%)", 0}, {"(ns)", 1e-9}, {"(us)", 1e-6}, {"(ms)", 1e-3}, {"(s)", 1}, {"(sec)", 1}};
  if (unit == text.npos) return column;
  column.unit_s = value_of(trimmed(text.substr(unit)), units).value_or(column.unit_s);
  return column;
}

Report report_of(const Header& header) {
  const auto has = [&](std::string_view name) { return header.place_of(name).has_value(); };
  if (has("start") && has("duration") && has("name")) {
    if (has("strm") && has("corrid")) return Report::device_trace;
    if (has("end") && (has("lvl") || has("rangestack"))) return Report::range_trace;
    return Report::other;
  }
  if (!has("total time") || !has("time")) return Report::other;
  if (has("category") && has("operation") && has("instances")) return Report::device_work;
  if (has("operation") && has("count")) return Report::copies;
  if (has("range") && has("instances")) return Report::ranges;
  if (!has("name") || !has("instances")) return Report::other;
  return has("gridxyz") ? Report::kernels_by_grid : Report::kernels;
}

// A header, if it is one: columns of numbers come first, and each has a name.
std::optional<Header> header_of(std::string_view line) {
  line = trimmed(line);
  if (!contains_any(line, {"Total Time", "Duration", "Time (%)", "Time(%)", "\"Time"})) {
    return std::nullopt;
  }
  Header header;
  header.separator = contains(line, '\t') ? '\t' : contains(line, ',') ? ',' : ' ';
  const auto cells =
      header.separator == ' ' ? split_by_blanks(line, columns_most) : split(line, header.separator);
  if (cells.size() < 4) return std::nullopt;
  for (const std::string& cell : cells) header.columns.push_back(column_of(cell));
  header.report = report_of(header);
  return header;
}

bool is_ruler(std::string_view line) {
  line = trimmed(line);
  return line.starts_with("---") && line.find_first_not_of("- ") == std::string_view::npos;
}

bool is_of_numbers(const Column& column) {
  constexpr std::string_view numbers[] = {"time", "total time", "instances", "count", "num calls",
                                          "avg",  "med",        "min",       "max",   "stddev"};
  return is_one_of(column.name, numbers);
}

// A row in columns of text: numbers without blanks; a grid's and a block's three; then one or two
// words, the last of which is what was measured.
std::vector<std::string> cells_in_columns(std::string_view line, const Header& header) {
  std::vector<std::string> cells;
  const auto next = [&] {
    line = trimmed(line);
    const std::size_t end = std::min(line.find(' '), line.size());
    const std::string_view word = line.substr(0, end);
    line.remove_prefix(end);
    return word;
  };
  for (std::size_t i = 0; i < header.columns.size(); ++i) {
    const Column& column = header.columns[i];
    const bool is_last = i + 1 == header.columns.size();
    if (is_of_numbers(column)) {
      cells.emplace_back(next());
    } else if (column.name == "gridxyz" || column.name == "blockxyz") {
      cells.emplace_back();
      for (int axis = 0; axis < 3; ++axis) cells.back().append(" ").append(next());
    } else {
      line = trimmed(line);
      const std::size_t end = is_last ? line.size() : std::min(line.find("  "), line.size());
      cells.emplace_back(trimmed(line.substr(0, std::min(end, cell_most))));
      line.remove_prefix(end);
    }
  }
  return cells;
}

// "3,481,709.0" of a table, 3481709.0 of CSV.
std::optional<double> number_in(std::string_view text) {
  std::string digits;
  for (const char c : text.substr(0, 64)) {
    if (c != ',') digits += c;
  }
  const auto number = number_of<double>(digits);
  return number && std::isfinite(*number) && *number >= 0 ? number : std::nullopt;
}

class TableReading {
 public:
  explicit TableReading(const std::function<bool(const StatsRow&)>& take) : take_(take) {}

  void take(std::size_t number, std::string_view line) {
    if (trimmed(line).empty()) {
      header_.reset();
      return;
    }
    if (auto header = header_of(line); header && (!header_ || header->report != Report::other)) {
      begin(std::move(*header));
    } else if (header_ && !(header_->separator == ' ' && is_ruler(line))) {
      take_row(number, line);
    }
  }

  [[nodiscard]] AroundTables around() const { return around_; }

 private:
  void begin(Header header) {
    header_ = std::move(header);
    ++around_.tables;
    if (header_->report == Report::other) {
      ++around_.other_tables;
      header_.reset();
    } else if (header_->separator == ' ' && (header_->report == Report::device_trace ||
                                             header_->report == Report::range_trace)) {
      around_.has_traces_in_columns = true;
      header_.reset();
    }
  }

  void take_row(std::size_t number, std::string_view line) {
    const auto cells = header_->separator == ' ' ? cells_in_columns(line, *header_)
                                                 : split(trimmed(line), header_->separator);
    // What follows a table without a blank line: what nsys says of the next.
    if (cells.empty() || !number_in(cells.front())) {
      header_.reset();
      return;
    }
    if (cells.size() == header_->columns.size() &&
        take_({*header_, around_.tables - 1, number, cells})) {
      return;
    }
    if (around_.broken_rows++ == 0) around_.first_broken_line = number;
  }

  const std::function<bool(const StatsRow&)>& take_;
  std::optional<Header> header_;
  AroundTables around_;
};

}  // namespace

std::optional<std::size_t> Header::place_of(std::string_view column) const {
  const auto found = std::ranges::find(columns, column, &Column::name);
  if (found == columns.end()) return std::nullopt;
  return static_cast<std::size_t>(found - columns.begin());
}

std::string_view StatsRow::text(std::string_view column) const {
  const auto place = header.place_of(column);
  return place ? std::string_view(cells[*place]) : std::string_view();
}

std::optional<double> StatsRow::number(std::string_view column) const {
  return number_in(text(column));
}

std::optional<Seconds> StatsRow::time(std::string_view column) const {
  constexpr double longest_s = 1e9;
  const auto value = number(column);
  if (!value) return std::nullopt;
  const double time_s = *value * header.columns[*header.place_of(column)].unit_s;
  return time_s <= longest_s ? std::optional(Seconds(time_s)) : std::nullopt;
}

std::optional<std::int64_t> StatsRow::nanoseconds(std::string_view column) const {
  const auto place = header.place_of(column);
  if (!place) return std::nullopt;
  // Whole ones are more than a double keeps.
  const double unit_s = header.columns[*place].unit_s;
  if (unit_s == 1e-9) {
    if (const auto whole = number_of<std::int64_t>(cells[*place])) {
      return *whole >= 0 ? whole : std::nullopt;
    }
  }
  constexpr double most_ns = 4e18;
  const auto value = number(column);
  if (!value || *value * unit_s * 1e9 > most_ns) return std::nullopt;
  return static_cast<std::int64_t>(std::llround(*value * unit_s * 1e9));
}

AroundTables read_stats_tables(std::string_view text,
                               const std::function<bool(const StatsRow&)>& take) {
  const CleanText clean(text);
  TableReading reading(take);
  for (const CleanLine& line : clean.lines()) reading.take(line.number, line.text);
  return reading.around();
}

bool has_stats_table(std::string_view text, const std::function<bool(Report)>& is_wanted) {
  const CleanText clean(text);
  return std::ranges::any_of(clean.lines(), [&](const CleanLine& line) {
    const auto header = header_of(line.text);
    return header && is_wanted(header->report);
  });
}

}  // namespace paceline::traces::nsys
