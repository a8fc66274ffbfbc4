#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/units/units.h"

namespace paceline::traces::nsys {

// What a table of `nsys stats` is of, by its columns.
enum class Report : unsigned char {
  kernels,          // cuda_gpu_kern_sum; until 2022 gpukernsum
  kernels_by_grid,  // cuda_gpu_kern_gb_sum, and gpukernsum of 2022
  device_work,      // cuda_gpu_sum: kernels and copies
  copies,           // cuda_gpu_mem_time_sum
  ranges,           // nvtx_sum, nvtx_pushpop_sum, nvtx_startend_sum
  device_trace,     // cuda_gpu_trace
  range_trace,      // nvtx_pushpop_trace
  other
};

// "Total Time (ns)": total time, of 1e-9.
struct Column {
  std::string name;      // in lower case, without its unit
  double unit_s = 1e-9;  // of times; nsys' own without a unit is nanoseconds
};

struct Header {
  Report report = Report::other;
  std::vector<Column> columns;
  char separator = ',';  // or a tab; a blank: columns of text

  [[nodiscard]] std::optional<std::size_t> place_of(std::string_view column) const;
};

struct StatsRow {
  const Header& header;
  std::size_t table;  // in the text, from 0
  std::size_t line;
  const std::vector<std::string>& cells;

  [[nodiscard]] std::string_view text(std::string_view column) const;  // empty: there is none
  // Not negative; nullopt for what is no such number.
  [[nodiscard]] std::optional<double> number(std::string_view column) const;
  [[nodiscard]] std::optional<Seconds> time(std::string_view column) const;
  [[nodiscard]] std::optional<std::int64_t> nanoseconds(std::string_view column) const;
};

struct AroundTables {
  std::size_t tables = 0, other_tables = 0;
  std::size_t broken_rows = 0, first_broken_line = 0;
  bool has_traces_in_columns = false;  // of text, which have cells without anything
};

// Calls `take` for the rows of every table that nsys prints, as CSV, separated by tabs, or (sums
// only) in columns, whatever is around them; it says whether the row could be read.
// Sources: scripts in reports/ of Nsight Systems 2021.1 to 2024.x, and outputs of 2023.3 to 2026.1.
AroundTables read_stats_tables(std::string_view text,
                               const std::function<bool(const StatsRow&)>& take);

[[nodiscard]] bool has_stats_table(std::string_view text,
                                   const std::function<bool(Report)>& is_wanted);

}  // namespace paceline::traces::nsys
