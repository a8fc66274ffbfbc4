#include "traces/nccl_inspector/nccl_inspector.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "traces/device_trace/limits.h"
#include "traces/json/values.h"
#include "traces/text/format_error.h"
#include "traces/text/lines.h"
#include "traces/text/plain_text.h"

namespace paceline::traces {
namespace {

using collectives::Collective;
using nlohmann::json;

// NCCL's names of functions.
constexpr std::array<std::pair<std::string_view, Collective>, 8> names{
    {{"AllReduce", Collective::all_reduce},
     {"ReduceScatter", Collective::reduce_scatter},
     {"AllGather", Collective::all_gather},
     {"Broadcast", Collective::broadcast},
     {"Reduce", Collective::reduce},
     {"AlltoAll", Collective::all_to_all},
     {"Scatter", Collective::scatter},
     {"Gather", Collective::gather}}};

Collective collective_of(const json& in) {
  const auto name = in.get<std::string>();
  for (const auto& [known, collective] : names) {
    if (name == known) return collective;
  }
  throw std::runtime_error("none of ours: " + shown(name));
}

Bytes size_of(const json& in) {
  const auto size = in.is_number_unsigned() ? measured_size(in.dump()) : std::nullopt;
  if (!size) throw std::runtime_error("is no size");
  return *size;
}

Seconds time_of(const json& in) {
  constexpr double microsecond = 1e-6;
  const auto time = in.is_number() ? measured_time(in.get<double>(), microsecond) : std::nullopt;
  if (!time) throw std::runtime_error("is no time that was measured");
  return *time;
}

// Whether a size is of one rank's share, as the bandwidth tells.
bool is_of_a_share(const InspectedCall& call, const json& perf) {
  const bool has_shares =
      call.collective == Collective::all_gather || call.collective == Collective::reduce_scatter;
  const auto found = perf.find("coll_algobw_gbs");
  if (found == perf.end()) {
    if (!has_shares) return false;
    throw std::runtime_error("has no coll_algobw_gbs, which tells whether a size is of all ranks");
  }
  const double told = found->is_number() ? found->get<double>() : 0;
  const double of_size = static_cast<double>(call.size.value()) / call.time.value() / 1e9;
  constexpr double loose = 0.05, decimals = 1e-6;  // it has six
  const auto fits = [&](double other) {
    return std::abs(told - other) <= loose * other + decimals;
  };
  if (fits(of_size)) return false;
  if (has_shares && fits(of_size * call.ranks)) return true;
  throw std::runtime_error("coll_algobw_gbs is not that of its size and time");
}

void take_header(const json& header, InspectedCall& call) {
  call.communicator = member(header, "id", [](const json& id) {
    return id.is_string() ? id.get<std::string>() : std::to_string(whole<std::uint64_t>(id));
  });
  call.rank = member(header, "rank", whole<std::uint32_t>);
  call.nodes = member(header, "nnodes", whole<std::uint32_t>);
  if (call.rank >= call.ranks) throw std::runtime_error("rank: is not below n_ranks");
  if (call.nodes == 0 || call.nodes > call.ranks) {
    throw std::runtime_error("nnodes: is not of 1 to n_ranks");
  }
}

void take_perf(const json& perf, InspectedCall& call) {
  call.collective = member(perf, "coll", collective_of);
  call.sequence = member(perf, "coll_sn", whole<std::uint64_t>);
  call.size = member(perf, "coll_msg_size_bytes", size_of);
  call.time = member(perf, "coll_exec_time_us", time_of);
  if (!is_of_a_share(call, perf)) return;
  constexpr std::uint64_t largest = std::uint64_t{1} << 56;  // as measured_size has it
  if (call.size.value() > largest / call.ranks) throw std::runtime_error("its size is no size");
  call.size = call.size * call.ranks;
}

// Throws std::runtime_error where it is no measurement, FormatError where the whole is absurd.
InspectedCall call_of(const json& in, std::size_t line) {
  InspectedCall call;
  call.line = line;
  call.ranks = member(in, "header", [](const json& header) {
    return member(header, "n_ranks", whole<std::uint32_t>);
  });
  if (call.ranks > traced_ranks_most) {
    throw FormatError(line, "n_ranks is " + more_than_a_run_has(call.ranks),
                      "give what NCCL's inspector wrote");
  }
  const auto take = [&](const char* key, const auto& take_object) {
    member(in, key, [&](const json& object) {
      take_object(object, call);
      return true;
    });
  };
  take("header", take_header);
  take("coll_perf", take_perf);
  return call;
}

void take_line(std::size_t number, std::string_view line, InspectedFile& file) {
  if (line.find_first_not_of(" \t") == std::string_view::npos) return;
  const json in = json::parse(line, nullptr, false);
  if (in.is_discarded()) {
    file.skipped.push_back({number, "the line breaks off, or is no JSON"});
  } else if (in.is_object() && in.contains("coll_perf")) {
    try {
      file.calls.push_back(call_of(in, number));
    } catch (const FormatError&) {
      throw;
    } catch (const std::runtime_error& error) {
      file.skipped.push_back({number, error.what()});
    }
  }
}

// Of all ranks that are known of a call.
struct JoinedCall {
  Seconds time;
  std::size_t line;
  std::set<std::uint32_t> ranks;
};

using CallKey = std::tuple<std::string, Collective, std::uint64_t, Bytes, std::uint32_t,
                           std::uint32_t>;  // communicator, kind, number, size, ranks, nodes
using TableKey = std::tuple<Collective, std::uint32_t, std::uint32_t>;

struct Table {
  std::map<Bytes, std::vector<Seconds>> times;  // of calls, by size
  std::map<Bytes, std::size_t> lines;           // the first of each size
  std::size_t calls = 0, lacking = 0;           // lacking ranks
};

std::map<CallKey, JoinedCall> joined(const std::vector<InspectedFile>& files) {
  std::map<CallKey, JoinedCall> calls;
  for (const InspectedFile& file : files) {
    for (const InspectedCall& one : file.calls) {
      const CallKey key{one.communicator, one.collective, one.sequence,
                        one.size,         one.ranks,      one.nodes};
      JoinedCall& call = calls.try_emplace(key, JoinedCall{one.time, one.line, {}}).first->second;
      call.time = std::min(call.time, one.time);
      call.ranks.insert(one.rank);
    }
  }
  return calls;
}

Seconds median(std::vector<Seconds> times) {
  const std::size_t middle = times.size() / 2;
  std::ranges::sort(times);
  return times.size() % 2 == 1 ? times[middle] : (times[middle - 1] + times[middle]) / 2.0;
}

CollectiveLog log_of(const TableKey& key, const Table& table) {
  CollectiveLog log;
  log.collective = std::get<0>(key);
  log.ranks = std::get<1>(key);
  log.nodes = std::get<2>(key);
  for (const auto& [size, times] : table.times) {
    log.rows.push_back({table.lines.at(size), size, {median(times)}});
  }
  if (table.lacking > 0) {
    log.notes.push_back(std::to_string(table.lacking) + " of " + std::to_string(table.calls) +
                        " calls lack ranks: their times may hold waiting; give the files of all");
  }
  return log;
}

class InspectedLog : public JoinedLog {
 public:
  void take(std::string_view text) override { files_.push_back(parse_nccl_inspector(text)); }
  std::vector<CollectiveLog> tables() override { return joined_logs(files_); }

 private:
  std::vector<InspectedFile> files_;
};

}  // namespace

bool is_nccl_inspector(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || text[first] != '{') return false;
  const std::string_view beginning = text.substr(first, 65536);
  return beginning.find("\"coll_perf\"") != std::string_view::npos &&
         beginning.find("\"header\"") != std::string_view::npos;
}

InspectedFile parse_nccl_inspector(std::string_view text) {
  InspectedFile file;
  for_each_line(plain_text(text),
                [&](std::size_t number, std::string_view line) { take_line(number, line, file); });
  if (file.calls.empty() && file.skipped.empty()) {
    throw FormatError(0, "has no collective", "give what NCCL's inspector wrote, a line a call");
  }
  return file;
}

std::vector<CollectiveLog> joined_logs(const std::vector<InspectedFile>& files) {
  std::map<TableKey, Table> tables;
  for (const auto& [key, call] : joined(files)) {
    const auto& [communicator, collective, sequence, size, ranks, nodes] = key;
    Table& table = tables[{collective, ranks, nodes}];
    table.times[size].push_back(call.time);
    std::size_t& line = table.lines.try_emplace(size, call.line).first->second;
    line = std::min(line, call.line);
    ++table.calls;
    if (call.ranks.size() < ranks) ++table.lacking;
  }
  std::vector<CollectiveLog> logs;
  for (const auto& [key, table] : tables) logs.push_back(log_of(key, table));
  if (logs.empty()) logs.emplace_back();  // what was skipped is reported of a table without rows
  for (const InspectedFile& file : files) {
    auto& skipped = logs.front().skipped;
    skipped.insert(skipped.end(), file.skipped.begin(), file.skipped.end());
  }
  return logs;
}

std::unique_ptr<JoinedLog> join_nccl_inspector() { return std::make_unique<InspectedLog>(); }

}  // namespace paceline::traces
