#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "traces/collective_log/collective_log.h"
#include "traces/text/lines.h"

namespace paceline::traces {

// Which columns a table has, as its header says. Without one, the length of a row shows it.
struct TableLayout {
  bool known = false;
  bool has_root = false;
  bool per_iteration = false;  // -I: four more columns a half, of single iterations
  bool cpu_times = false;      // -C: how long the call took, not the collective
  std::size_t ours = 0;        // columns behind those, of `paceline collective --measure`
  bool has_redop = false;
  std::string leading;  // of a column before the size, as people add one: its name

  friend bool operator==(const TableLayout&, const TableLayout&) = default;
};

// nullopt for a line that is no header. The # before it may be missing.
[[nodiscard]] std::optional<TableLayout> layout_of(const Words& words);

// Size, count and type, perhaps absurd, behind a leading column where the table has one.
[[nodiscard]] bool begins_row(const Words& words, const TableLayout& layout);

// Whether a row stands on the line behind something else, as an arrow or a remark.
[[nodiscard]] bool has_row(const Words& words);

// Why rows of -C are none.
constexpr const char* cpu_time_reason = "the time of the CPU's call, not of the collective";

// Out of place or in place, in us and GB/s, off by so much at most, by the printed decimals.
struct HalfRow {
  double time_us, algbw_gb_per_s, busbw_gb_per_s;
  double time_off_us, algbw_off_gb_per_s;
};

// A row, or why it is none.
struct ParsedRow {
  CollectiveLog::Row row;
  Evidence kind;
  std::string why_not;     // empty: it is one
  std::size_t halves = 0;  // that it has columns of

  // Adds a time when all that is said beside it agrees with it.
  void take_half(const HalfRow& half);
};

[[nodiscard]] ParsedRow row_of(std::size_t line, Words words, const TableLayout& layout);

inline constexpr const char* row_breaks_off = "the line breaks off";

}  // namespace paceline::traces
