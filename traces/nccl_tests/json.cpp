#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "traces/collective_log/lines.h"
#include "traces/nccl_tests/nccl_tests.h"

namespace paceline::traces {
namespace {

using nlohmann::json;

// One of out_of_place and in_place; why it cannot be used, or nothing.
std::string take_half(const json& half, CollectiveLog::Row& row, RowKind& kind) {
  if (!half.is_object() || !half.contains("time") || !half["time"].is_number()) {
    return "has no time";
  }
  const double time = half["time"];
  if (!std::isfinite(time) || time <= 0) return fmt::format("a time of {} us", time);
  const json wrong = half.value("nwrong", json());
  if (wrong.is_number() && wrong.get<double>() != 0) {
    return fmt::format("{} wrong elements", wrong.get<double>());
  }
  const json alg = half.value("alg_bw", json()), bus = half.value("bus_bw", json());
  if (alg.is_number() && bus.is_number() && alg.get<double>() > 0) {
    kind.bus_factor = bus.get<double>() / alg.get<double>();
  }
  row.times.push_back(Seconds(time * 1e-6));
  return "";
}

void take_row(const json& in, std::size_t number, CollectiveLog& log, std::vector<RowKind>& kinds) {
  const auto skip = [&](const std::string& why) { log.skipped.push_back({number, why}); };
  if (!in.is_object() || !in.contains("size") || !in["size"].is_number_unsigned()) {
    return skip("has no size");
  }
  const auto size = in["size"].get<std::uint64_t>();
  if (size == 0) return;
  CollectiveLog::Row row{number, Bytes(size), {}};
  const json redop = in.value("redop", json());
  RowKind kind{redop.is_string() && redop != "none", std::nullopt, 0};
  if (const json root = in.value("root", json()); root.is_string()) {
    const auto words = words_of(root.get_ref<const std::string&>());
    if (words.size() == 1) kind.root = number_of<std::int64_t>(words.front());
  }
  for (const char* key : {"out_of_place", "in_place"}) {
    if (!in.contains(key) || in[key].is_null()) continue;
    const std::string why = take_half(in[key], row, kind);
    if (!why.empty()) return skip(why);
  }
  if (row.times.empty()) return skip("has no time");
  kinds.push_back(kind);
  log.rows.push_back(std::move(row));
}

void take_devices(const json& config, CollectiveLog& log) {
  std::set<std::string> hosts;
  std::uint32_t ranks = 0;
  for (const json& device : config.value("devices", json::array())) {
    if (!device.is_object()) continue;
    if (const json host = device.value("hostname", json()); host.is_string()) hosts.insert(host);
    if (const json name = device.value("device_info", json()); name.is_string()) {
      log.devices.insert(name);
    }
    ++ranks;
  }
  // Of a process with several GPUs only the first is listed.
  const auto threads = config.value("nthreads", json()), gpus = config.value("ngpus", json());
  constexpr std::uint32_t most = 1024;
  if (threads.is_number_unsigned() && gpus.is_number_unsigned() && threads <= most &&
      gpus <= most) {
    ranks *= threads.get<std::uint32_t>() * gpus.get<std::uint32_t>();
  }
  log.ranks = ranks;
  log.nodes = static_cast<std::uint32_t>(hosts.size());
}

}  // namespace

bool is_nccl_tests_json(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{' &&
         text.find("\"nccl_version\"") != std::string_view::npos &&
         text.find("\"results\"") != std::string_view::npos;
}

std::vector<CollectiveLog> read_nccl_tests_json(std::string_view text) {
  json in;
  try {
    in = json::parse(text);
  } catch (const json::parse_error& error) {
    const auto before = text.substr(0, std::min(error.byte, text.size()));
    throw FormatError(static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n')) + 1,
                      "is no JSON: it breaks off or has an odd character here",
                      "nccl-tests end the file when they end themselves");
  }
  CollectiveLog log;
  if (const json version = in.value("nccl_version", json()); version.is_number_unsigned()) {
    const auto code = version.get<std::uint32_t>();
    log.library_version = fmt::format("{}.{}.{}", code / 10000, code / 100 % 100, code % 100);
  }
  if (const json config = in.value("config", json()); config.is_object()) take_devices(config, log);
  std::vector<RowKind> kinds;
  std::size_t number = 0;
  const json results = in.value("results", json());
  if (!results.is_array() || results.empty()) {
    throw FormatError(0, "has no results", "give a file of a run that ended");
  }
  for (const json& row : results) take_row(row, ++number, log, kinds);
  for (const json& word : in.value("args", json::array())) {
    if (word.is_string() && !log.collective)
      log.collective = collective_of_program(std::string(word));
  }
  for (auto kind = kinds.rbegin(); kind != kinds.rend() && !log.collective; ++kind) {
    log.collective = collective_of_row(*kind, log.ranks);
  }
  return {log};
}

}  // namespace paceline::traces
