#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include "traces/run_record/run_record.h"
#include "traces/text/format_error.h"

// What holds for records of runs in every format.
namespace paceline::fuzz {

inline void demand(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

// No figure is endless or negative.
inline void check_cell(const traces::RunRecord::Cell& cell) {
  std::visit(
      [](const auto& value) {
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, double>) {
          demand(std::isfinite(value), "a ratio is none");
        } else if constexpr (std::is_same_v<Value, Seconds>) {
          demand(std::isfinite(value.value()) && value.value() >= 0, "a time is none");
        }
      },
      cell);
}

inline void check(const traces::RunRecord& record) {
  demand(!record.title.empty(), "a record has no title");
  for (const auto& fact : record.facts) {
    demand(!fact.name.empty(), "a fact has no name");
    check_cell(fact.value);
  }
  for (const auto& table : record.tables) {
    demand(!table.rows.empty() && table.rows.size() <= traces::RunRecord::rows_most, "rows");
    for (const auto& row : table.rows) {
      demand(row.size() == table.columns.size(), "a row has other cells than its table");
      for (const auto& cell : row) check_cell(cell);
    }
  }
  for (const std::string& note : record.notes) demand(!note.empty(), "a note says nothing");
}

template <class IsOne, class Read>
int take_record(const std::uint8_t* data, std::size_t size, const IsOne& is_one, const Read& read) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    (void)is_one(text);
    check(read(text));
  } catch (const traces::FormatError& error) {
    demand(*error.what() != '\0' && !error.hint().empty(), "an error says nothing");
  }
  return 0;
}

}  // namespace paceline::fuzz
