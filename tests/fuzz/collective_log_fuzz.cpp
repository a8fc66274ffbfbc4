// Logs of measured collectives: any bytes are tables or a FormatError; and each row of a table has
// a size and a time that can have been measured.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "traces/formats/formats.h"
#include "traces/text/format_error.h"

namespace {

using paceline::traces::CollectiveLog;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

void check(const CollectiveLog& log) {
  require(!log.rows.empty() || !log.skipped.empty(), "a table has neither rows nor skipped lines");
  for (const CollectiveLog::Row& row : log.rows) {
    require(row.line > 0, "a row has no line");
    require(row.size.value() > 0, "a row has a size of 0");
    require(!row.times.empty(), "a row has no time");
    for (const auto time : row.times) {
      require(std::isfinite(time.value()) && time.value() > 0, "a time is none");
    }
  }
  for (const CollectiveLog::Skipped& skipped : log.skipped) {
    require(skipped.line > 0 && !skipped.why.empty(), "a line is skipped without a reason");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const auto logs = paceline::traces::read_collective_logs(text);
    require(!logs.empty(), "a text is read, and has no table");
    for (const CollectiveLog& log : logs) check(log);
  } catch (const paceline::traces::FormatError& error) {
    require(*error.what() != '\0' && !error.hint().empty(), "an error says nothing");
  }
  return 0;
}
