#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "traces/ddp_logging/reports.h"
#include "traces/device_trace/device_trace.h"
#include "traces/run_record/readers.h"
#include "traces/text/format_error.h"
#include "traces/text/lines.h"

namespace paceline::traces {
namespace {

using ddp_logging::Kind;
using ddp_logging::Report;
using Cell = RunRecord::Cell;

constexpr const char* what_to_give =
    "give what _get_ddp_logging_data() returns, or the log of TORCH_DISTRIBUTED_DEBUG=DETAIL";

// What the reports of a run's ranks say together, the later ones of a rank over the earlier.
struct Run {
  Report all;
  std::map<std::optional<std::uint32_t>, Report> ranks;  // nullopt: not told
  std::size_t runs = 1;                                  // in the text; the last is here
  std::size_t unreadable = 0;
};

// "1024, 2048"; nullopt for each that is no size.
std::vector<std::optional<Bytes>> sizes_in(std::string_view text) {
  std::vector<std::optional<Bytes>> sizes;
  if (text.empty()) return sizes;
  for (const std::string_view word : cells_of(text, std::numeric_limits<std::size_t>::max())) {
    sizes.push_back(measured_size(word));
  }
  return sizes;
}

std::vector<Bytes> sizes_of(const Report& report, std::string_view key) {
  std::vector<Bytes> sizes;
  for (const auto& size : sizes_in(report.text(key))) {
    if (size) sizes.push_back(*size);
  }
  return sizes;
}

std::size_t unreadable_in(const Report& report, std::string_view key, Kind kind) {
  // A day is longer than any step, and 2^56 bytes are more than the memory of any cluster.
  constexpr std::uint64_t time_most_ns = 86'400'000'000'000, most = std::uint64_t{1} << 56U;
  const auto number = report.number(key);
  switch (kind) {
    case Kind::text: return 0;
    case Kind::sizes:
      return static_cast<std::size_t>(
          std::ranges::count(sizes_in(report.text(key)), std::optional<Bytes>()));
    case Kind::flag: return number && *number <= 1 ? 0 : 1;
    case Kind::nanoseconds: return number && *number <= time_most_ns ? 0 : 1;
    case Kind::count:
    case Kind::bytes: return number && *number <= most ? 0 : 1;
  }
  return 0;
}

std::optional<std::uint32_t> number_of_ranks(const Report& report, const std::string& key,
                                             std::uint32_t most) {
  const auto number = report.number(key);
  if (!number) return std::nullopt;
  if (*number > most) {
    throw FormatError(report.line, key + " is " + more_than_a_run_has(*number), what_to_give);
  }
  return static_cast<std::uint32_t>(*number);
}

void take(const Report& report, Run& run) {
  (void)number_of_ranks(report, "world_size", traced_ranks_most);
  Report& of_rank = run.ranks[number_of_ranks(report, "rank", traced_ranks_most - 1)];
  for (const auto& [key, value] : report.values) {
    if (value.empty() || value == "N/A") continue;
    const Kind kind = *ddp_logging::kind_of(key);
    const std::size_t unreadable = unreadable_in(report, key, kind);
    run.unreadable += unreadable;
    if (unreadable > 0 && kind != Kind::sizes) continue;
    run.all.values[key] = of_rank.values[key] = value;
  }
}

// In what does not change in a run.
bool contradicts(const Run& run, const Report& report) {
  for (const char* key :
       {"world_size", "num_parameter_tensors", "total_parameter_size_bytes", "bucket_cap_bytes"}) {
    const auto known = run.all.number(key), value = report.number(key);
    if (known && value && *known != *value) return true;
  }
  const std::string_view known = run.all.text("module_name"), module = report.text("module_name");
  return !known.empty() && !module.empty() && known != module;
}

Run run_of(const ddp_logging::Reports& found) {
  if (found.reports.empty()) {
    throw FormatError(0, "has nothing of DistributedDataParallel's logging that can be read",
                      what_to_give);
  }
  Run run;
  for (const Report& report : found.reports) {
    if (contradicts(run, report)) run = {{}, {}, run.runs + 1};
    take(report, run);
  }
  return run;
}

// 0 stands for what was not measured, as without a backward pass or under no_sync.
std::optional<Seconds> time_of(const Report& report, std::string_view key) {
  const auto value = report.number(key);
  if (!value || *value == 0) return std::nullopt;
  return Seconds(static_cast<double>(*value) * 1e-9);
}

struct RankTimes {
  std::optional<Seconds> forward;        // to the start of the backward
  std::optional<Seconds> backward;       // to its last gradient
  std::optional<Seconds> communication;  // the first bucket's start to the last one's end
  std::optional<Seconds> overlap;        // the first bucket's start to the last gradient

  // `which`: "avg_", or empty for the last iteration.
  RankTimes(const Report& report, const std::string& which)
      : forward(time_of(report, which + "forward_compute_time")),
        backward(time_of(report, which + "backward_compute_time")),
        communication(time_of(report, which + "backward_comm_time")),
        overlap(time_of(report, which + "backward_compute_comm_overlap_time")) {}

  // Overlap is a part of communication.
  [[nodiscard]] bool is_contradictory() const {
    return communication && overlap && *overlap > *communication;
  }
  // Communication after the backward; nullopt where that is not told.
  [[nodiscard]] std::optional<Seconds> exposed() const {
    if (!communication || !overlap || is_contradictory()) return std::nullopt;
    return *communication - *overlap;
  }
};

RankTimes averages(const Report& report) { return {report, "avg_"}; }

void add_facts(const Run& run, RunRecord& record) {
  constexpr std::array<std::pair<const char*, const char*>, 8> facts{
      {{"ranks", "world_size"},
       {"module", "module_name"},
       {"library", "backend_name"},
       {"tensors", "num_parameter_tensors"},
       {"gradients", "total_parameter_size_bytes"},
       {"types", "dtypes"},
       {"bucket cap", "bucket_cap_bytes"},
       {"communication hook", "comm_hook"}}};
  for (const auto& [name, key] : facts) {
    const std::string_view text = run.all.text(key);
    if (text.empty()) continue;
    const Kind kind = *ddp_logging::kind_of(key);
    const auto number = run.all.number(key).value_or(0);
    record.facts.push_back({name, kind == Kind::text    ? Cell(shown(text))
                                  : kind == Kind::bytes ? Cell(Bytes(number))
                                                        : Cell(number)});
  }
  // Rebuilt buckets are in the order of ready gradients; the first has a limit of its own.
  const auto limits = sizes_of(run.all, "rebuilt_bucket_size_limits");
  if (!limits.empty()) record.facts.push_back({"first bucket", limits.front()});
  const auto unused = run.all.number("unused_parameter_size").value_or(0);
  if (unused > 0) record.facts.push_back({"unused parameters", Bytes(unused)});
}

void add_buckets(const Run& run, RunRecord& record) {
  RunRecord::Table table{"buckets, in the order in which they are reduced", {"bucket"}};
  std::vector<std::vector<Bytes>> columns;
  for (const auto& [key, name] :
       {std::pair{"bucket_sizes", "at first"}, {"rebuilt_bucket_sizes", "rebuilt"}}) {
    if (auto sizes = sizes_of(run.all, key); !sizes.empty()) {
      columns.push_back(std::move(sizes));
      table.columns.emplace_back(name);
    }
  }
  std::size_t all = 0;
  for (const auto& column : columns) all = std::max(all, column.size());
  for (std::size_t i = 0; i < std::min(all, RunRecord::rows_most); ++i) {
    std::vector<Cell>& row = table.rows.emplace_back();
    row.emplace_back(std::uint64_t{i});
    for (const auto& column : columns) {
      row.push_back(
          RunRecord::cell_of(i < column.size() ? std::optional(column[i]) : std::nullopt));
    }
  }
  if (all > RunRecord::rows_most) {
    record.notes.push_back(std::to_string(all) + " buckets, of which the first " +
                           std::to_string(RunRecord::rows_most) + " are listed");
  }
  record.add(std::move(table));
}

void add_times(const Run& run, const std::string& which, const char* title, RunRecord& record) {
  RunRecord::Table table{
      title, {"rank", "iteration", "forward", "backward", "communication", "overlap", "exposed"}};
  for (const auto& [rank, report] : run.ranks) {
    const RankTimes times(report, which);
    if (!times.backward && !times.forward) continue;
    if (table.rows.size() == RunRecord::rows_most) break;
    using Row = RunRecord;
    table.rows.push_back({rank ? Cell(std::uint64_t{*rank}) : Cell(std::string("-")),
                          Row::cell_of(report.number("iteration")), Row::cell_of(times.forward),
                          Row::cell_of(times.backward), Row::cell_of(times.communication),
                          Row::cell_of(times.overlap), Row::cell_of(times.exposed())});
  }
  record.add(std::move(table));
}

// The rank that computes longest is what the others wait for.
void add_slowest(const Run& run, RunRecord& record) {
  std::vector<std::pair<Seconds, std::uint64_t>> computes;
  for (const auto& [rank, report] : run.ranks) {
    const RankTimes times = averages(report);
    if (rank && times.forward && times.backward) {
      computes.emplace_back(*times.forward + *times.backward, *rank);
    }
  }
  if (computes.size() < 2) return;
  const auto by_time = &std::pair<Seconds, std::uint64_t>::first;
  const auto most = *std::ranges::max_element(computes, {}, by_time);
  const auto least = *std::ranges::min_element(computes, {}, by_time);
  record.facts.push_back({"slowest rank", most.second});
  record.facts.push_back({"more compute than the fastest", most.first - least.first});
}

void add_exposed(const Run& run, RunRecord& record) {
  std::vector<Seconds> all;
  for (const auto& [rank, report] : run.ranks) {
    if (const auto exposed = averages(report).exposed()) all.push_back(*exposed);
  }
  if (all.empty()) return;
  const auto [least, most] = std::ranges::minmax(all);
  record.facts.push_back({"exposed communication, least of ranks", least});
  record.facts.push_back({"exposed communication, most of ranks", most});
}

void add_settings(const Run& run, RunRecord& record) {
  auto& settings = record.settings;
  settings.emplace_back("training.strategy", "ddp");
  const auto add_size = [&](const char* key, std::uint64_t size) {
    settings.emplace_back(key, std::to_string(size) + "B");
  };
  if (const auto cap = run.all.number("bucket_cap_bytes")) add_size("training.bucket_cap", *cap);
  const auto limits = sizes_of(run.all, "rebuilt_bucket_size_limits");
  if (!limits.empty()) add_size("training.first_bucket", limits.front().value());
  for (const std::string key :
       {"find_unused_parameters", "gradient_as_bucket_view", "static_graph", "broadcast_buffers"}) {
    const auto value = run.all.number(key);
    if (value) settings.emplace_back("training." + key, *value == 1 ? "true" : "false");
  }
  const std::string_view library = run.all.text("backend_name");
  if (library == "nccl" || library == "gloo" || library == "mpi") {
    settings.emplace_back("collective.library", library);
  }
  const auto ranks = run.all.number("world_size");
  if (ranks) settings.emplace_back("gpus", std::to_string(*ranks));
}

// Explains torch's figures: they run from the first bucket's all-reduce to the end of the last one,
// and include gaps and late ranks.
void add_meaning(const Run& run, RunRecord& record) {
  const bool has_times = std::ranges::any_of(
      run.ranks, [](const auto& one) { return averages(one.second).backward.has_value(); });
  if (!has_times) {
    record.notes.emplace_back(
        "no times: torch takes them in training, so print the dictionary after some steps, or set "
        "TORCH_DISTRIBUTED_DEBUG=DETAIL");
    return;
  }
  record.notes.emplace_back(
      "communication is from the first bucket's start to the last one's end, with what a rank "
      "waits "
      "for others; averages are over the iterations that torch sampled, the first ones among them");
  std::string command = "paceline run SCENARIO.yaml";
  for (const auto& [key, value] : record.settings) {
    if (key.starts_with("training.strategy") || key == "training.bucket_cap" || key == "gpus") {
      command += " --set " + key + "=" + value;
    }
  }
  record.notes.push_back("exposed is what 'exposed comm' predicts: " + command);
}

void add_doubts(const Run& run, const ddp_logging::Reports& found, RunRecord& record) {
  auto& notes = record.notes;
  if (run.runs > 1) {
    notes.push_back(std::to_string(run.runs) +
                    " runs in one text: the last one is shown; give each in a file of its own");
  }
  const auto told = static_cast<std::uint64_t>(
      std::ranges::count_if(run.ranks, [](const auto& one) { return one.first.has_value(); }));
  const auto ranks = run.all.number("world_size");
  if (ranks && told > 0 && told < *ranks) {
    notes.push_back("of " + std::to_string(*ranks) + " ranks " + std::to_string(told) +
                    (told == 1 ? " is" : " are") + " told of");
  }
  for (const auto& [rank, report] : run.ranks) {
    if (!averages(report).is_contradictory()) continue;
    notes.push_back("rank " + (rank ? std::to_string(*rank) : "-") +
                    ": its overlap is longer than its communication, so what is exposed is not "
                    "told");
    break;
  }
  if (found.cut_off > 0) {
    notes.push_back(std::to_string(found.cut_off) +
                    (found.cut_off == 1 ? " dictionary is" : " dictionaries are") +
                    " cut off: what is there is taken");
  }
  if (found.mixed > 0) {
    notes.push_back(counted(found.mixed, "line") +
                    " left out: messages of several ranks are in one another");
  }
  if (run.unreadable > 0) {
    notes.push_back(std::to_string(run.unreadable) + " values left out: no numbers");
  }
}

}  // namespace

bool is_ddp_logging(std::string_view text) {
  // The cap of buckets stands in recordings of ours, too (torch/).
  return contains_any(
      searched(text),
      {"DDP Initialized with:", "Avg backward comm. time:", "'total_parameter_size_bytes'",
       "\"total_parameter_size_bytes\"", "'avg_backward_comm_time'", "\"avg_backward_comm_time\""});
}

RunRecord read_ddp_logging(std::string_view text) {
  const auto found = ddp_logging::reports_of(plain_text(text));
  const Run run = run_of(found);
  RunRecord record;
  record.title = "DistributedDataParallel's logging data";
  if (const auto ranks = run.all.number("world_size")) {
    record.title += " of a run of " + std::to_string(*ranks) + " ranks";
  }
  add_facts(run, record);
  add_slowest(run, record);
  add_exposed(run, record);
  add_times(run, "avg_", "averages by rank", record);
  add_times(run, "", "the last iteration that torch sampled, by rank", record);
  add_buckets(run, record);
  add_settings(run, record);
  add_doubts(run, found, record);
  add_meaning(run, record);
  return record;
}

}  // namespace paceline::traces
