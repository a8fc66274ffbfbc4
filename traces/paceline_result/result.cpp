#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "traces/collective_log/comments.h"
#include "traces/paceline_result/paceline_result.h"
#include "traces/text/format_error.h"

namespace paceline::traces {
namespace {

using collectives::Collective;
using nlohmann::json;

// A number under a key; nullopt when the value is none.
std::optional<double> number(const json& in, const char* key) {
  const auto found = in.find(key);
  if (found == in.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

std::optional<std::uint32_t> count(const json& in, const char* key) {
  const auto found = in.find(key);
  if (found == in.end() || !found->is_number_unsigned()) return std::nullopt;
  const auto value = found->get<std::uint64_t>();
  if (value == 0 || value > ranks_most) return std::nullopt;
  return static_cast<std::uint32_t>(value);
}

std::optional<Collective> collective_of(const json& call) {
  const auto name = call.find("collective");
  if (name == call.end() || !name->is_string()) return std::nullopt;
  return from_text<collectives::Collective>(name->get_ref<const std::string&>());
}

void take_call(const json& call, std::size_t line, std::map<Collective, CollectiveLog>& tables) {
  if (!call.is_object()) return;
  const auto collective = collective_of(call);
  if (!collective) return;
  CollectiveLog& table = tables[*collective];
  const auto size = call.find("size_bytes");
  const auto start = number(call, "start_s"), end = number(call, "end_s"),
             skew = number(call, "skew_s");
  if (size == call.end() || !size->is_number_unsigned() || !start || !end || !skew) {
    table.skipped.push_back({line, "has no size or no time"});
    return;
  }
  const double time = *end - *start - *skew;
  const auto bytes = size->get<std::uint64_t>();
  if (bytes == 0) return;
  constexpr double least = 1e-9, most = 1e9;
  if (!(time >= least && time <= most)) {
    table.skipped.push_back({line, "a time that cannot be"});
    return;
  }
  table.rows.push_back({line, Bytes(bytes), {Seconds(time)}});
}

// The tables of a point that was measured.
void take_point(const json& point, std::size_t& line, std::vector<CollectiveLog>& logs) {
  if (!point.is_object()) return;
  const auto measured = point.find("measured");
  const auto gpus = count(point, "gpus"), nodes = count(point, "nodes");
  if (measured == point.end() || !measured->is_object() || !gpus || !nodes) return;
  const auto calls = measured->find("calls");
  if (calls == measured->end() || !calls->is_array()) return;
  std::map<Collective, CollectiveLog> tables;
  for (const json& call : *calls) take_call(call, ++line, tables);
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
  const auto first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{' &&
         text.find("\"paceline.result/1\"") != std::string_view::npos;
}

std::vector<CollectiveLog> read_paceline_result(std::string_view text) {
  const json in = json::parse(text, nullptr, false);
  if (in.is_discarded()) throw FormatError(0, "is no JSON", "give the whole file");
  std::vector<CollectiveLog> logs;
  std::size_t line = 0;  // of calls, counted over all points
  if (in.is_object() && in.contains("points") && in["points"].is_array()) {
    for (const json& point : in["points"]) take_point(point, line, logs);
  }
  if (logs.empty()) {
    throw FormatError(0, "has no measured collective calls",
                      "give what paceline measure --json wrote");
  }
  return logs;
}

}  // namespace paceline::traces
