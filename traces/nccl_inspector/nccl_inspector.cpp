#include "traces/nccl_inspector/nccl_inspector.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "traces/device_trace/device_trace.h"
#include "traces/json/json_value.h"
#include "traces/pytorch/nccl_names.h"
#include "traces/text/clean_text.h"
#include "traces/text/format_error.h"
#include "traces/text/lines.h"

namespace paceline::traces {
namespace {

using collectives::Collective;

constexpr const char* breaks_off = "the line breaks off, or is no JSON";

Collective collective_of(const JsonValue& in) {
  if (const auto collective = pytorch::collective_of(in.text())) return *collective;
  throw std::runtime_error("none of ours: " + shown(in.text()));
}

Bytes size_of(const JsonValue& in) {
  const auto size = measured_size(in.if_whole());
  if (!size) throw std::runtime_error("is no size");
  return *size;
}

Seconds time_of(const JsonValue& in) {
  constexpr double microsecond = 1e-6;
  const auto us = in.if_number();
  const auto time = us ? measured_time(*us, microsecond) : std::nullopt;
  if (!time) throw std::runtime_error("is no time that was measured");
  return *time;
}

// As the bandwidth tells.
bool is_of_a_share(const InspectedCall& call, const JsonValue& perf) {
  const bool has_shares =
      call.collective == Collective::all_gather || call.collective == Collective::reduce_scatter;
  const JsonValue* found = perf.find("coll_algobw_gbs");
  if (found == nullptr) {
    if (!has_shares) return false;
    throw std::runtime_error("has no coll_algobw_gbs, which tells whether a size is of all ranks");
  }
  const double told = found->if_number().value_or(0);
  const double of_size = static_cast<double>(call.size.value()) / call.time.value() / 1e9;
  constexpr double loose = 0.05, decimals = 1e-6;  // it has six
  const auto fits = [&](double other) {
    return std::abs(told - other) <= loose * other + decimals;
  };
  if (fits(of_size)) return false;
  if (has_shares && fits(of_size * call.ranks)) return true;
  throw std::runtime_error("coll_algobw_gbs is not that of its size and time");
}

void take_header(const JsonValue& header, InspectedCall& call) {
  call.communicator = member(header, "id", [](const JsonValue& id) {
    const auto number = id.if_whole();
    return number ? std::to_string(*number) : id.text();
  });
  call.rank = member<std::uint32_t>(header, "rank");
  call.nodes = member<std::uint32_t>(header, "nnodes");
  if (call.rank >= call.ranks) throw std::runtime_error("rank: is not below n_ranks");
  if (call.nodes == 0 || call.nodes > call.ranks) {
    throw std::runtime_error("nnodes: is not of 1 to n_ranks");
  }
}

void take_perf(const JsonValue& perf, InspectedCall& call) {
  call.collective = member(perf, "coll", collective_of);
  call.sequence = member<std::uint64_t>(perf, "coll_sn");
  call.size = member(perf, "coll_msg_size_bytes", size_of);
  call.time = member(perf, "coll_exec_time_us", time_of);
  if (!is_of_a_share(call, perf)) return;
  constexpr std::uint64_t largest = std::uint64_t{1} << 56;  // as measured_size has it
  if (call.size.value() > largest / call.ranks) throw std::runtime_error("its size is no size");
  call.size = call.size * call.ranks;
}

// All of it may be missing, or of another kind.
void take_metadata(const JsonValue& metadata, InspectedCall& call) {
  call.dumped_us = metadata["dump_timestamp_us"].if_whole();
  call.host = shown(metadata["hostname"].text_or_empty());
}

// Throws std::runtime_error where it is no measurement, FormatError where the whole is absurd.
InspectedCall call_of(const JsonValue& in, std::size_t line) {
  InspectedCall call;
  call.line = line;
  call.ranks = member(in, "header", [](const JsonValue& header) {
    return member<std::uint32_t>(header, "n_ranks");
  });
  if (call.ranks > traced_ranks_most) {
    throw FormatError(line, "n_ranks is " + more_than_a_run_has(call.ranks),
                      "give what NCCL's inspector wrote");
  }
  member(in, "header", [&](const JsonValue& header) { take_header(header, call); });
  member(in, "coll_perf", [&](const JsonValue& perf) { take_perf(perf, call); });
  take_metadata(in["metadata"], call);
  return call;
}

std::optional<JsonValue> parsed_object(std::string_view text) {
  try {
    return parse_json(text, "");
  } catch (const FormatError&) {
    return std::nullopt;
  }
}

void take_object(std::size_t number, const JsonValue& in, InspectedFile& file) {
  if (in.find("coll_perf") == nullptr) return;
  try {
    file.calls.push_back(call_of(in, number));
  } catch (const FormatError&) {
    throw;
  } catch (const std::runtime_error& error) {
    file.skipped.push_back({number, error.what()});
  }
}

// One a line, or one over several.
class ObjectReader {
 public:
  explicit ObjectReader(InspectedFile& file) : file_(file) {}

  void take(std::size_t number, std::string_view line) {
    line = trimmed(line);
    if (line.empty()) return;
    // What is within an object has a key before its brace: another begins, and the last broke off.
    if (line.front() == '{') {
      end();
      number_ = number;
    } else if (text_.empty()) {
      const bool is_of_list = line.find_first_not_of("[], \t") == line.npos;
      if (!is_of_list) file_.skipped.push_back({number, breaks_off});
      return;
    }
    constexpr std::size_t most = 65536;  // one has less than 2,000 bytes
    text_.append(line) += '\n';
    if (text_.size() > most) return end();
    const std::size_t last = text_.find_last_not_of(",\n");  // commas are of a list
    if (text_[last] != '}') return;
    const auto in = parsed_object(std::string_view(text_).substr(0, last + 1));
    if (!in) return;
    take_object(number_, *in, file_);
    text_.clear();
  }
  void end() {
    if (!text_.empty()) file_.skipped.push_back({number_, breaks_off});
    text_.clear();
  }

 private:
  InspectedFile& file_;
  std::string text_;
  std::size_t number_ = 0;
};

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
  std::set<std::string> communicators = {};
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

struct Stay {
  std::set<std::string> hosts;
  std::uint64_t first_us = std::numeric_limits<std::uint64_t>::max(), last_us = 0;

  void add(const InspectedCall& call) {
    if (call.host.empty() || !call.dumped_us) return;
    hosts.insert(call.host);
    first_us = std::min(first_us, *call.dumped_us);
    last_us = std::max(last_us, *call.dumped_us);
  }
};

bool have_common(const std::set<std::string>& a, const std::set<std::string>& b) {
  return std::ranges::any_of(a, [&](const std::string& one) { return b.contains(one); });
}

bool were_together(const Stay& a, const Stay& b) {
  return std::max(a.first_us, b.first_us) < std::min(a.last_us, b.last_us) &&
         have_common(a.hosts, b.hosts);
}

using Stays = std::map<std::string, Stay>;

Stays stays_of(const std::vector<InspectedFile>& files) {
  Stays stays;
  for (const InspectedFile& file : files) {
    for (const InspectedCall& call : file.calls) stays[call.communicator].add(call);
  }
  return stays;
}

// Of communicators that were on one host at the same time, as of two jobs; else empty.
std::string note_of(const std::set<std::string>& communicators, const Stays& stays) {
  constexpr std::size_t most = 1000;  // pairs of them are looked at
  if (communicators.size() > most) return "";
  for (auto one = communicators.begin(); one != communicators.end(); ++one) {
    for (auto other = std::next(one); other != communicators.end(); ++other) {
      if (!were_together(stays.at(*one), stays.at(*other))) continue;
      return "communicators " + shown(*one) + " and " + shown(*other) +
             " ran on one host at the same time: their times may hold what each took from the "
             "other; give calls of one that ran alone";
    }
  }
  return "";
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
  const std::string_view beginning = text.substr(0, 65536);
  if (!contains(beginning, "\"coll_perf\"") || !contains(beginning, "\"header\"")) return false;
  const CleanText clean(beginning);
  return std::ranges::any_of(
      clean.lines(), [](const CleanLine& line) { return trimmed(line.text).starts_with('{'); });
}

InspectedFile parse_nccl_inspector(std::string_view text) {
  InspectedFile file;
  const CleanText clean(plain_text(text));
  ObjectReader objects(file);
  for (const CleanLine& line : clean.lines()) objects.take(line.number, line.text);
  objects.end();
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
    table.communicators.insert(communicator);
    if (call.ranks.size() < ranks) ++table.lacking;
  }
  std::vector<CollectiveLog> logs;
  const Stays stays = stays_of(files);
  for (const auto& [key, table] : tables) {
    logs.push_back(log_of(key, table));
    std::string note = note_of(table.communicators, stays);
    if (!note.empty()) logs.back().notes.push_back(std::move(note));
  }
  if (logs.empty()) logs.emplace_back();  // what was skipped is reported of a table without rows
  for (const InspectedFile& file : files) {
    auto& skipped = logs.front().skipped;
    skipped.insert(skipped.end(), file.skipped.begin(), file.skipped.end());
  }
  return logs;
}

std::unique_ptr<JoinedLog> join_nccl_inspector() { return std::make_unique<InspectedLog>(); }

}  // namespace paceline::traces
