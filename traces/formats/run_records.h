#pragma once

#include <span>
#include <string_view>

#include "traces/run_record/run_record.h"

namespace paceline::traces {

struct RunRecordFormat {
  std::string_view name;
  bool (*is_one)(std::string_view text);     // of the first MiB or of all
  RunRecord (*read)(std::string_view text);  // throws FormatError
};

// A row a format; the first that takes a text reads it.
[[nodiscard]] std::span<const RunRecordFormat> run_record_formats();

}  // namespace paceline::traces
