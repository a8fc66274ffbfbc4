#include "traces/formats/collective_logs.h"

#include <algorithm>
#include <array>
#include <utility>

#include "models/registered_rows.h"
#include "traces/collective_table/collective_table.h"
#include "traces/formats/add_format.h"
#include "traces/mpi_benchmarks/collectives.h"
#include "traces/nccl_inspector/nccl_inspector.h"
#include "traces/nccl_tests/nccl_tests.h"
#include "traces/paceline_result/paceline_result.h"
#include "traces/text/format_error.h"
#include "traces/text/plain_text.h"

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

RegisteredRows<CollectiveLogFormat>& registered_log_formats() {
  static RegisteredRows<CollectiveLogFormat> rows(log_formats_of_the_tree);
  return rows;
}

// Throws FormatError where none takes it.
const CollectiveLogFormat& format_of(std::string_view text) {
  std::string known;
  for (const CollectiveLogFormat& format : collective_log_formats()) {
    if (format.is_one(text)) return format;
    known += (known.empty() ? "" : ", ") + std::string(format.name);
  }
  if (std::string hint = hint_for_table(text); !hint.empty()) {
    throw FormatError(0, "has no measured collective", std::move(hint));
  }
  throw FormatError(0, "has no measured collective", "known: " + known);
}

}  // namespace

std::span<const CollectiveLogFormat> collective_log_formats() {
  return registered_log_formats().all();
}

void add_collective_log_format(const CollectiveLogFormat& row) {
  PACELINE_EXPECTS(!row.name.empty() && row.is_one != nullptr);
  PACELINE_EXPECTS((row.read == nullptr) != (row.join == nullptr));
  registered_log_formats().add(row, [](const auto& a, const auto& b) { return a.name == b.name; });
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
  const CollectiveLogFormat& format = format_of(text);
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

}  // namespace paceline::traces
