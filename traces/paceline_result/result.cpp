#include <algorithm>
#include <map>

#include "traces/collective_log/collective_log.h"
#include "traces/collective_log/readers.h"
#include "traces/json/json_value.h"
#include "traces/text/format_error.h"
#include "traces/text/lines.h"

namespace paceline::traces {
namespace {

using collectives::Collective;

std::optional<std::uint32_t> count_of(const JsonValue& in) {
  const auto value = in.if_whole();
  if (!value || *value == 0 || *value > ranks_most) return std::nullopt;
  return static_cast<std::uint32_t>(*value);
}

void take_call(const JsonValue& call, std::size_t line,
               std::map<Collective, CollectiveLog>& tables) {
  const auto collective = from_text<Collective>(call["collective"].text_or_empty());
  if (!collective) return;
  CollectiveLog& table = tables[*collective];
  const auto size = call["size_bytes"].if_whole();
  const auto start = call["start_s"].if_number(), end = call["end_s"].if_number(),
             skew = call["skew_s"].if_number();
  if (!size || !start || !end || !skew) {
    table.skipped.push_back({line, "has no size or no time"});
    return;
  }
  if (*size == 0) return;
  const double time = *end - *start - *skew;
  constexpr double least = 1e-9, most = 1e9;
  if (!(time >= least && time <= most)) {
    table.skipped.push_back({line, "a time that cannot be"});
    return;
  }
  table.rows.push_back({line, Bytes(*size), {Seconds(time)}});
}

void take_point(const JsonValue& point, std::size_t& line, std::vector<CollectiveLog>& logs) {
  const auto gpus = count_of(point["gpus"]), nodes = count_of(point["nodes"]);
  if (!gpus || !nodes) return;
  std::map<Collective, CollectiveLog> tables;
  for (const JsonValue& call : point["measured"]["calls"].list_or_empty()) {
    take_call(call, ++line, tables);
  }
  for (auto& [collective, table] : tables) {
    if (table.rows.empty() && table.skipped.empty()) continue;
    table.collective = collective;
    table.ranks = *gpus;
    table.nodes = *nodes;
    logs.push_back(std::move(table));
  }
}

}  // namespace

bool is_paceline_result(std::string_view text) {
  return begins_as_json(text) && contains(text, "\"paceline.result/1\"");
}

std::vector<CollectiveLog> read_paceline_result(std::string_view text) {
  const JsonValue in = parse_json(text, "give the whole file");
  std::vector<CollectiveLog> logs;
  std::size_t line = 0;  // of calls, counted over all points
  for (const JsonValue& point : in["points"].list_or_empty()) take_point(point, line, logs);
  if (logs.empty()) {
    throw FormatError(0, "has no measured collective calls",
                      "give what paceline measure SCENARIO --json FILE wrote");
  }
  return logs;
}

}  // namespace paceline::traces
