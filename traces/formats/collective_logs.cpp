#include "traces/formats/collective_logs.h"

#include <algorithm>
#include <array>

#include "traces/collective_table/collective_table.h"
#include "traces/nccl_inspector/nccl_inspector.h"
#include "traces/nccl_tests/nccl_tests.h"
#include "traces/paceline_result/paceline_result.h"
#include "traces/text/format_error.h"
#include "traces/text/plain_text.h"

namespace paceline::traces {
namespace {

constexpr std::array log_formats{
    CollectiveLogFormat{"paceline's own results", is_paceline_result, read_paceline_result},
    CollectiveLogFormat{"nccl-tests JSON", is_nccl_tests_json, read_nccl_tests_json},
    CollectiveLogFormat{"NCCL inspector", is_nccl_inspector, read_nccl_inspector},
    CollectiveLogFormat{"nccl-tests text", is_nccl_tests_text, read_nccl_tests_text},
    CollectiveLogFormat{"table with a header", is_collective_table, read_collective_table},
};

}  // namespace

std::span<const CollectiveLogFormat> collective_log_formats() { return log_formats; }

bool is_collective_log(std::string_view text) {
  text = without_mark(text);
  return std::ranges::any_of(
      log_formats, [&](const CollectiveLogFormat& format) { return format.is_one(text); });
}

std::vector<CollectiveLog> read_collective_logs(std::string_view text) {
  text = plain_text(text);
  for (const CollectiveLogFormat& format : log_formats) {
    if (format.is_one(text)) return format.read(text);
  }
  throw FormatError(0, "has no measured collective",
                    "give the output of nccl-tests, as text or JSON, or of NCCL's inspector, or a "
                    "table whose header has size(B) and time(us)");
}

}  // namespace paceline::traces
