#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "traces/collective_log/comments.h"
#include "traces/nccl_tests/device_list.h"
#include "traces/nccl_tests/nccl_tests.h"
#include "traces/nccl_tests/row.h"
#include "traces/text/format_error.h"
#include "traces/text/lines.h"

namespace paceline::traces {
namespace {

using nlohmann::json;

// A member of an object, or null: copies of what is nested deeply would overflow the stack.
const json& member(const json& of, const char* key) {
  static const json none;
  if (!of.is_object()) return none;
  const auto found = of.find(key);
  return found == of.end() ? none : *found;
}

std::string_view text_of(const json& value) {
  return value.is_string() ? std::string_view(value.get_ref<const std::string&>())
                           : std::string_view();
}

std::uint64_t whole_number_of(const json& value, std::uint64_t otherwise) {
  return value.is_number_unsigned() ? value.get<std::uint64_t>() : otherwise;
}

// One of out_of_place and in_place; what is no number is the string "nan".
void take_half(const json& half, ParsedRow& parsed) {
  const json& time = member(half, "time");
  const json& wrong = member(half, "nwrong");
  const json &algbw = member(half, "alg_bw"), &busbw = member(half, "bus_bw");
  if (!member(half, "cpu_time").is_null()) {
    parsed.why_not = cpu_time_reason;
  } else if (!time.is_number()) {
    parsed.why_not = "has no time";
  } else if (!wrong.is_null() && !(wrong.is_number() && wrong.get<double>() == 0)) {
    parsed.why_not = wrong.is_number()
                         ? fmt::format("its results are wrong: {}", wrong.get<double>())
                         : "its results are wrong";
  } else if (!algbw.is_number() || !busbw.is_number()) {
    parsed.why_not = "has no bandwidths";
  } else {
    // Numbers are whole there, and times of an average over ranks.
    constexpr double loose = 0.05;
    const double us = time.get<double>();
    parsed.take_half({us, algbw.get<double>(), busbw.get<double>(), loose * us, 0.01});
  }
}

Evidence kind_of(const json& result) {
  Evidence kind;
  const auto redop = text_of(member(result, "redop"));
  kind.reduces = !redop.empty() && redop != "none";  // a result has it always
  if (const auto words = words_of(text_of(member(result, "root"))); words.size() == 1) {
    kind.root = number_of<std::int64_t>(words.front());
  }
  return kind;
}

void take_result(const json& result, std::size_t number, CollectiveLog& log,
                 std::vector<Evidence>& kinds) {
  const json& told = member(result, "size");
  if (told.is_number_unsigned() && told.get<std::uint64_t>() == 0) return;
  const auto size = told.is_number_unsigned() ? measured_size(told.dump()) : std::nullopt;
  if (!size) {
    log.skipped.push_back({number, "has no size"});
    return;
  }
  ParsedRow parsed{{number, *size, {}}, kind_of(result), ""};
  for (const char* key : {"out_of_place", "in_place"}) {
    const json& half = member(result, key);
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

void take_devices(const json& config, CollectiveLog& log) {
  DeviceList list;
  const json& devices = member(config, "devices");
  if (!devices.is_array()) return;
  for (const json& device : devices) {
    if (!device.is_object()) continue;
    const auto absurd = std::numeric_limits<std::uint64_t>::max();
    list.add({whole_number_of(member(device, "rank"), absurd),
              whole_number_of(member(device, "group"), 0), text_of(member(device, "hostname")),
              text_of(member(device, "device_info")), ""});
  }
  // Of a process with several GPUs only the first is listed.
  constexpr std::uint64_t most = ranks_most + 1;  // more are as absurd, and multiply safely
  constexpr std::uint64_t one = 1;
  const auto threads = std::clamp(whole_number_of(member(config, "nthreads"), 1), one, most);
  const auto gpus = std::clamp(whole_number_of(member(config, "ngpus"), 1), one, most);
  list.tell(log, threads * gpus);
}

json parsed_json(std::string_view text) {
  constexpr const char* hint = "nccl-tests end the file when they end themselves";
  try {
    return json::parse(text);
  } catch (const json::parse_error& error) {
    const auto before = text.substr(0, std::min(error.byte, text.size()));
    throw FormatError(static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n')) + 1,
                      "is no JSON: it breaks off or has an odd character here", hint);
  } catch (const json::exception&) {  // a number beyond a double, which has no place
    throw FormatError(0, "is no JSON that can be read: it has a number beyond all bounds", hint);
  }
}

}  // namespace

bool is_nccl_tests_json(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{' &&
         text.find("\"nccl_version\"") != std::string_view::npos &&
         text.find("\"results\"") != std::string_view::npos;
}

std::vector<CollectiveLog> read_nccl_tests_json(std::string_view text) {
  const json in = parsed_json(text);
  CollectiveLog log;
  log.release = version_of_code(whole_number_of(member(in, "nccl_version"), 0));
  take_devices(member(in, "config"), log);
  const json& results = member(in, "results");
  std::vector<Evidence> kinds;
  if (results.is_array()) {
    std::size_t number = 0;
    for (const json& result : results) take_result(result, ++number, log, kinds);
  }
  if (log.rows.empty() && log.skipped.empty()) {
    throw FormatError(0, "has no results", "give a file of a run that ended");
  }
  // The first argument is the program; files that others name may have a program's name in theirs.
  const json& arguments = member(in, "args");
  const auto program = arguments.is_array() && !arguments.empty()
                           ? program_in(text_of(arguments.front()))
                           : std::nullopt;
  for (const Evidence& kind : kinds) log.evidence.take(kind);
  const bool are_listed = log.ranks > 0;
  identify(program ? std::vector{*program} : std::vector<Program>(), are_listed, log);
  return {log};
}

}  // namespace paceline::traces
