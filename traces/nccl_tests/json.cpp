#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "models/cost/nccl_tuning.h"
#include "traces/collective_log/collective_log.h"
#include "traces/json/json_value.h"
#include "traces/nccl_tests/device_list.h"
#include "traces/nccl_tests/nccl_tests.h"
#include "traces/nccl_tests/row.h"
#include "traces/text/format_error.h"
#include "traces/text/lines.h"

namespace paceline::traces {
namespace {

// One of out_of_place and in_place; what is no number is the string "nan".
void take_half(const JsonValue& half, ParsedRow& parsed) {
  const auto us = half["time"].if_number(), wrong = half["nwrong"].if_number(),
             algbw = half["alg_bw"].if_number(), busbw = half["bus_bw"].if_number();
  if (!half["cpu_time"].is_null()) {
    parsed.why_not = cpu_time_reason;
  } else if (!us) {
    parsed.why_not = "has no time";
  } else if (wrong ? *wrong != 0 : !half["nwrong"].is_null()) {
    parsed.why_not = "its results are wrong";
    if (wrong) parsed.why_not += fmt::format(": {}", *wrong);
  } else if (!algbw || !busbw) {
    parsed.why_not = "has no bandwidths";
  } else {
    // Numbers are whole there, and times of an average over ranks.
    constexpr double loose = 0.05;
    parsed.take_half({*us, *algbw, *busbw, loose * *us, 0.01});
  }
}

Evidence kind_of(const JsonValue& result) {
  Evidence kind;
  const auto redop = result["redop"].text_or_empty();
  kind.reduces = !redop.empty() && redop != "none";  // a result has it always
  if (const auto words = words_of(result["root"].text_or_empty()); words.size() == 1) {
    kind.root = number_of<std::int64_t>(words.front());
  }
  return kind;
}

void take_result(const JsonValue& result, std::size_t number, CollectiveLog& log,
                 std::vector<Evidence>& kinds) {
  const auto told = result["size"].if_whole();
  if (told == 0U) return;
  const auto size = measured_size(told);
  if (!size) {
    log.skipped.push_back({number, "has no size"});
    return;
  }
  ParsedRow parsed{{number, *size, {}}, kind_of(result), ""};
  for (const char* key : {"out_of_place", "in_place"}) {
    const JsonValue& half = result[key];
    if (!half.is_null() && parsed.why_not.empty()) take_half(half, parsed);
  }
  if (parsed.why_not.empty() && parsed.row.times.empty()) parsed.why_not = "has no time";
  if (!parsed.why_not.empty()) {
    log.skipped.push_back({number, parsed.why_not});
    return;
  }
  kinds.push_back(parsed.kind);
  log.rows.push_back(std::move(parsed.row));
}

void take_devices(const JsonValue& config, CollectiveLog& log) {
  DeviceList list;
  if (!config["devices"].is_list()) return;
  for (const JsonValue& device : config["devices"].list()) {
    if (!device.is_object()) continue;
    constexpr auto absurd = std::numeric_limits<std::uint64_t>::max();
    list.add({device["rank"].if_whole().value_or(absurd), device["group"].if_whole().value_or(0),
              device["hostname"].text_or_empty(), device["device_info"].text_or_empty(), ""});
  }
  // Of a process with several GPUs only the first is listed.
  constexpr std::uint64_t most = ranks_most + 1;  // more are as absurd, and multiply safely
  constexpr std::uint64_t one = 1;
  const auto told = [&](const char* key) {
    return std::clamp(config[key].if_whole().value_or(one), one, most);
  };
  list.tell(log, told("nthreads") * told("ngpus"));
}

}  // namespace

bool is_nccl_tests_json(std::string_view text) {
  return begins_as_json(text) && contains(text, "\"nccl_version\"") &&
         contains(text, "\"results\"");
}

std::vector<CollectiveLog> read_nccl_tests_json(std::string_view text) {
  const JsonValue in = parse_json(text, "nccl-tests end the file when they end themselves");
  CollectiveLog log;
  log.release = cost::nccl::version_of_code(in["nccl_version"].if_whole().value_or(0));
  take_devices(in["config"], log);
  std::vector<Evidence> kinds;
  std::size_t number = 0;
  for (const JsonValue& result : in["results"].list_or_empty()) {
    take_result(result, ++number, log, kinds);
  }
  if (log.rows.empty() && log.skipped.empty()) {
    throw FormatError(0, "has no results", "give a file of a run that ended");
  }
  // The first argument is the program; files that others name may have a program's name in theirs.
  const auto& arguments = in["args"].list_or_empty();
  const auto program =
      arguments.empty() ? std::nullopt : program_in(arguments.front().text_or_empty());
  for (const Evidence& kind : kinds) log.evidence.take(kind);
  const bool are_listed = log.ranks > 0;
  identify(program ? std::vector{*program} : std::vector<Program>(), are_listed, log);
  return {log};
}

}  // namespace paceline::traces
