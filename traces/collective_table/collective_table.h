#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "traces/collective_log/collective_log.h"

// Comma-separated values below a header: size(B), time(us) or time(ns), time(ms), time(s); several
// columns of times are repetitions; others are passed over. Comments before may say "# GPUs: 8", "#
// nodes: 1" and "# collective: all_reduce". Several tables may follow each other.
namespace paceline::traces {

[[nodiscard]] bool is_collective_table(std::string_view text);
[[nodiscard]] std::vector<CollectiveLog> read_collective_table(std::string_view text);

// Which may also be of ping-pongs.
class SizeTimeColumns {
 public:
  SizeTimeColumns() = default;
  // None of a line that is no header. Throws FormatError where it has two columns of sizes.
  SizeTimeColumns(std::size_t number, std::string_view line);

  [[nodiscard]] static bool are_in(std::string_view line);
  [[nodiscard]] bool empty() const { return units_.empty(); }

  struct Row {
    Bytes size;
    std::vector<Seconds> times;
    std::string why_not;  // empty: it is a row
  };
  // `least`: of a size.
  [[nodiscard]] Row row_of(std::string_view line, Bytes least) const;

 private:
  std::vector<double> units_;  // by column: -1: size; 0: passed over; else the seconds of a unit
};

// How to write a table made by hand, where no format takes a text with three rows or more of as
// many cells, most of them numbers; else empty.
[[nodiscard]] std::string hint_for_table(std::string_view text);

}  // namespace paceline::traces
