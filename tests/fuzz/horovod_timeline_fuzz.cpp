// Horovod's timelines: any bytes are a record of a run, whose tables are whole and whose figures
// are numbers, or a FormatError.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <type_traits>
#include <variant>

#include "traces/run_record/readers.h"
#include "traces/text/format_error.h"

namespace {

using paceline::traces::RunRecord;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

void check(const RunRecord::Cell& cell) {
  std::visit(
      [](const auto& value) {
        if constexpr (requires { value.value(); }) {
          const auto number = static_cast<double>(value.value());
          require(std::isfinite(number) && number >= 0, "a figure is no number");
        }
      },
      cell);
}

void check(const RunRecord& record) {
  require(!record.title.empty() && !record.facts.empty(), "a record tells nothing");
  for (const auto& [name, value] : record.facts) check(value);
  for (const RunRecord::Table& table : record.tables) {
    require(!table.rows.empty() && table.rows.size() <= RunRecord::rows_most, "rows");
    for (const auto& row : table.rows) {
      require(row.size() == table.columns.size(), "a row has other cells than columns");
      for (const auto& cell : row) check(cell);
    }
  }
  for (const auto& [key, value] : record.settings) {
    require(key.starts_with("training.") && !value.empty(), "a setting is none");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)paceline::traces::is_horovod_timeline(text);
  try {
    check(paceline::traces::read_horovod_timeline(text));
  } catch (const paceline::traces::FormatError& error) {
    require(*error.what() != '\0' && !error.hint().empty(), "an error says nothing");
  }
  return 0;
}
