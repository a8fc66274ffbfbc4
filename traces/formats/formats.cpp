#include "traces/formats/formats.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "models/registered_rows.h"
#include "models/text/number.h"
#include "traces/collective_log/readers.h"
#include "traces/collective_table/collective_table.h"
#include "traces/device_trace/device_trace.h"
#include "traces/device_trace/readers.h"
#include "traces/nccl_inspector/nccl_inspector.h"
#include "traces/nccl_tests/nccl_tests.h"
#include "traces/perfetto/perfetto.h"
#include "traces/run_record/readers.h"
#include "traces/text/format_error.h"
#include "traces/text/lines.h"

namespace paceline::traces {
namespace {

constexpr std::array log_formats_of_the_tree{
    CollectiveLogFormat{"paceline's own results", is_paceline_result, read_paceline_result},
    CollectiveLogFormat{"nccl-tests JSON", is_nccl_tests_json, read_nccl_tests_json},
    CollectiveLogFormat{"NCCL inspector", is_nccl_inspector, nullptr, join_nccl_inspector},
    CollectiveLogFormat{"nccl-tests text", is_nccl_tests_text, read_nccl_tests_text},
    CollectiveLogFormat{"OSU micro-benchmarks", is_osu_collective, read_osu_collective},
    CollectiveLogFormat{"Intel MPI Benchmarks", is_imb_collective, read_imb_collective},
    CollectiveLogFormat{"table whose header has size(B) and time(us)", is_collective_table,
                        read_collective_table},
};

constexpr std::array trace_formats_of_the_tree{
    DeviceTraceFormat{"kineto", is_kineto, read_kineto},
    DeviceTraceFormat{"recording", is_recording, read_recording},
    DeviceTraceFormat{"execution trace", is_execution_trace, read_execution_trace},
    DeviceTraceFormat{"chakra", is_chakra, read_chakra},
    DeviceTraceFormat{"Nsight Systems", is_nsys_trace, nullptr, read_nsys_traces},
    DeviceTraceFormat{"flight recorder", is_flight_recorder, read_flight_recorder, nullptr, true},
};

constexpr std::array record_formats_of_the_tree{
    RunRecordFormat{"DistributedDataParallel's logging data", is_ddp_logging, read_ddp_logging},
    RunRecordFormat{"sums of nsys stats", is_nsys_statistics, read_nsys_statistics},
    RunRecordFormat{"Horovod timeline", is_horovod_timeline, read_horovod_timeline},
};

template <class Row, std::size_t n>
RegisteredRows<Row>& registered(const std::array<Row, n>& of_the_tree) {
  static RegisteredRows<Row> rows(of_the_tree);
  return rows;
}

template <class Row, std::size_t n>
void add(const Row& row, const std::array<Row, n>& of_the_tree) {
  PACELINE_EXPECTS(!row.name.empty() && row.is_one != nullptr);
  registered(of_the_tree).add(row, [](const Row& a, const Row& b) { return a.name == b.name; });
}

// Of the rows the first that takes a text. Throws FormatError with `otherwise` where there is none,
// and as its hint `hint` or the names of all.
template <class Row>
const Row& row_for(std::string_view text, std::span<const Row> rows, const char* otherwise,
                   std::string (*hint)(std::string_view)) {
  std::string known;
  for (const Row& row : rows) {
    if (row.is_one(text)) return row;
    known += (known.empty() ? "known: " : ", ") + std::string(row.name);
  }
  const std::string better = hint == nullptr ? "" : hint(text);
  throw FormatError(0, otherwise, better.empty() ? known : better);
}

}  // namespace

std::span<const CollectiveLogFormat> collective_log_formats() {
  return registered(log_formats_of_the_tree).all();
}
std::span<const DeviceTraceFormat> device_trace_formats() {
  return registered(trace_formats_of_the_tree).all();
}
std::span<const RunRecordFormat> run_record_formats() {
  return registered(record_formats_of_the_tree).all();
}

void add_collective_log_format(const CollectiveLogFormat& row) {
  PACELINE_EXPECTS((row.read == nullptr) != (row.join == nullptr));
  add(row, log_formats_of_the_tree);
}

void add_device_trace_format(const DeviceTraceFormat& row) {
  PACELINE_EXPECTS((row.read == nullptr) != (row.read_all == nullptr));
  add(row, trace_formats_of_the_tree);
}

void add_run_record_format(const RunRecordFormat& row) {
  PACELINE_EXPECTS(row.read != nullptr);
  add(row, record_formats_of_the_tree);
}

bool is_collective_log(std::string_view text) {
  text = without_mark(text);
  return std::ranges::any_of(collective_log_formats(), [&](const CollectiveLogFormat& format) {
    return format.is_one(text);
  });
}

bool is_log_beside_ping_pongs(std::string_view text) {
  return is_osu_collective(text) || is_imb_collective(text);
}

std::vector<CollectiveLog> CollectiveLogFiles::take(std::string_view text) {
  const std::size_t file = taken_++;
  text = plain_text(text);
  const CollectiveLogFormat& format =
      row_for(text, collective_log_formats(), "has no measured collective", hint_for_table);
  if (format.join == nullptr) return format.read(text);
  auto group = std::ranges::find(groups_, &format, &Group::format);
  if (group == groups_.end()) group = groups_.insert(group, {&format, {}, format.join()});
  group->log->take(text);
  group->files.push_back(file);
  return {};
}

std::vector<CollectiveLogFiles::Joined> CollectiveLogFiles::joined() {
  std::vector<Joined> all;
  for (Group& group : groups_) {
    if (!group.files.empty()) all.push_back({std::move(group.files), group.log->tables()});
  }
  return all;
}

std::vector<CollectiveLog> read_collective_logs(std::string_view text) {
  CollectiveLogFiles one;
  std::vector<CollectiveLog> tables = one.take(text);
  for (auto& joined : one.joined()) tables = std::move(joined.tables);
  return tables;
}

std::optional<Rank> rank_of_file_name(std::string_view name) {
  constexpr std::string_view digits = "0123456789";
  name = name.substr(name.find_last_of("/\\") + 1);  // of none the whole
  const std::size_t word = name.rfind("rank");
  std::string_view number;
  if (word != std::string_view::npos) {
    number = name.substr(std::min(name.find_first_not_of("_-.=", word + 4), name.size()));
    number = number.substr(0, number.find_first_not_of(digits));
  }
  if (number.empty()) {
    const std::size_t dot = name.find('.');
    number = name.substr(0, dot);
    number = number.substr(number.find_last_not_of(digits) + 1);
  }
  const auto rank = number_of<std::uint32_t>(number);
  return rank && *rank < traced_ranks_most ? std::optional(Rank(*rank)) : std::nullopt;
}

std::vector<TracePart> read_device_traces(std::string_view text) {
  if (is_own_timeline(text)) {
    throw FormatError(0, "is a timeline that paceline wrote for viewers, not a profiler's trace",
                      "give what --trace wrote beside --timeline");
  }
  const DeviceTraceFormat& format =
      row_for(text, device_trace_formats(), "is in no known format", nullptr);
  if (format.read_all != nullptr) return format.read_all(text);
  std::vector<TracePart> only;
  only.push_back({"", format.read(text)});
  return only;
}

}  // namespace paceline::traces
