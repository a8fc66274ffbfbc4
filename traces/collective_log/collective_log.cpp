#include "traces/collective_log/collective_log.h"

#include <algorithm>

#include "traces/collective_log/lines.h"
#include "traces/collective_table/collective_table.h"
#include "traces/nccl_inspector/nccl_inspector.h"
#include "traces/nccl_tests/nccl_tests.h"
#include "traces/paceline_result/paceline_result.h"

namespace paceline::traces {
namespace {

std::string_view without_mark(std::string_view text) {
  // What editors of another system put first.
  constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  return text;
}

}  // namespace

const std::vector<CollectiveLogFormat>& collective_log_formats() {
  static const std::vector<CollectiveLogFormat> formats{
      {"paceline's own results", is_paceline_result, read_paceline_result},
      {"nccl-tests JSON", is_nccl_tests_json, read_nccl_tests_json},
      {"NCCL inspector", is_nccl_inspector, read_nccl_inspector},
      {"nccl-tests text", is_nccl_tests_text, read_nccl_tests_text},
      {"table with a header", is_collective_table, read_collective_table},
  };
  return formats;
}

std::string_view plain_text(std::string_view text) {
  const std::size_t odd = text.find('\0');
  if (odd != std::string_view::npos) {
    const auto before = text.substr(0, odd);
    const auto line = static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n')) + 1;
    throw FormatError(line, "is not text: it has a zero byte", "give the log itself");
  }
  return without_mark(text);
}

bool is_collective_log(std::string_view text) {
  text = without_mark(text);
  return std::ranges::any_of(collective_log_formats(), [&](const CollectiveLogFormat& format) {
    return format.is_one(text);
  });
}

std::vector<CollectiveLog> read_collective_logs(std::string_view text) {
  text = plain_text(text);
  for (const CollectiveLogFormat& format : collective_log_formats()) {
    if (format.is_one(text)) return format.read(text);
  }
  throw FormatError(0, "has no measured collective",
                    "give the output of nccl-tests, as text or JSON, or of NCCL's inspector, or a "
                    "table whose header has size(B) and time(us)");
}

}  // namespace paceline::traces
