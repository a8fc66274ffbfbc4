#include "traces/ddp_logging/ddp_logging.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "traces/ddp_logging/run.h"
#include "traces/text/plain_text.h"

namespace paceline::traces {
namespace {

using ddp_logging::RankTimes;
using ddp_logging::Run;
using Cell = RunRecord::Cell;

constexpr std::size_t first_of_json = std::size_t{1} << 20U;

Cell cell_of(std::optional<Seconds> time) { return time ? Cell(*time) : Cell(std::string("-")); }

std::string as_key(bool value) { return value ? "true" : "false"; }

void add_facts(const Run& run, RunRecord& record) {
  const auto add = [&](const char* name, auto value) {
    if (value) record.facts.push_back({name, *value});
  };
  const auto add_text = [&](const char* name, const std::string& value) {
    if (!value.empty()) record.facts.push_back({name, value});
  };
  add("ranks", run.world_size);
  add_text("module", run.module);
  add_text("library", run.library);
  add("tensors", run.tensors);
  add("gradients", run.gradients);
  add_text("types", run.types);
  add("bucket cap", run.bucket_cap);
  add("first bucket", run.first_bucket);
  add("unused parameters", run.unused);
  add_text("communication hook", run.hook);
}

void add_buckets(const Run& run, RunRecord& record) {
  const std::size_t all = std::max(run.first_buckets.size(), run.rebuilt_buckets.size());
  if (all == 0) return;
  RunRecord::Table table{"buckets, in the order in which they are reduced", {"bucket"}, {}};
  if (!run.first_buckets.empty()) table.columns.emplace_back("at first");
  if (!run.rebuilt_buckets.empty()) table.columns.emplace_back("rebuilt");
  for (std::size_t i = 0; i < std::min(all, RunRecord::rows_most); ++i) {
    std::vector<Cell> row{std::uint64_t{i}};
    for (const auto* buckets : {&run.first_buckets, &run.rebuilt_buckets}) {
      if (buckets->empty()) continue;
      row.push_back(i < buckets->size() ? Cell((*buckets)[i]) : Cell(std::string("-")));
    }
    table.rows.push_back(std::move(row));
  }
  if (all > RunRecord::rows_most) {
    record.notes.push_back(std::to_string(all) + " buckets, of which the first " +
                           std::to_string(RunRecord::rows_most) + " are listed");
  }
  record.tables.push_back(std::move(table));
}

void add_times(const Run& run, bool of_last, const char* title, RunRecord& record) {
  RunRecord::Table table{
      title,
      {"rank", "iteration", "forward", "backward", "communication", "overlap", "exposed"},
      {}};
  for (const auto& [rank, told] : run.ranks) {
    const RankTimes& times = of_last ? told.last : told.average;
    if (!times.backward && !times.forward) continue;
    if (table.rows.size() == RunRecord::rows_most) break;
    table.rows.push_back({rank ? Cell(std::uint64_t{*rank}) : Cell(std::string("-")),
                          told.iteration ? Cell(*told.iteration) : Cell(std::string("-")),
                          cell_of(times.forward), cell_of(times.backward),
                          cell_of(times.communication), cell_of(times.overlap),
                          cell_of(times.exposed())});
  }
  if (!table.rows.empty()) record.tables.push_back(std::move(table));
}

// Of those that compute between the first and the last bucket of a step, the one that takes longest
// is what the others wait for.
void add_slowest(const Run& run, RunRecord& record) {
  const auto compute_of = [](const auto& one) {
    const RankTimes& times = one.second.average;
    return times.forward && times.backward ? std::optional(*times.forward + *times.backward)
                                           : std::nullopt;
  };
  std::optional<std::uint32_t> slowest;
  std::optional<Seconds> most, least;
  std::size_t ranks = 0;
  for (const auto& one : run.ranks) {
    const auto compute = compute_of(one);
    if (!compute || !one.first) continue;
    ++ranks;
    if (!most || *compute > *most) slowest = one.first;
    most = std::max(most.value_or(*compute), *compute);
    least = std::min(least.value_or(*compute), *compute);
  }
  if (ranks < 2) return;
  record.facts.push_back({"slowest rank", std::uint64_t{*slowest}});
  record.facts.push_back({"more compute than the fastest", *most - *least});
}

void add_exposed(const Run& run, RunRecord& record) {
  std::optional<Seconds> least, most;
  for (const auto& [rank, told] : run.ranks) {
    const auto exposed = told.average.exposed();
    if (!exposed) continue;
    least = std::min(least.value_or(*exposed), *exposed);
    most = std::max(most.value_or(*exposed), *exposed);
  }
  if (!least) return;
  record.facts.push_back({"exposed communication, least of ranks", *least});
  record.facts.push_back({"exposed communication, most of ranks", *most});
}

void add_settings(const Run& run, RunRecord& record) {
  auto& settings = record.settings;
  settings.emplace_back("training.strategy", "ddp");
  if (run.bucket_cap) {
    settings.emplace_back("training.bucket_cap", std::to_string(run.bucket_cap->value()) + "B");
  }
  if (run.first_bucket) {
    settings.emplace_back("training.first_bucket", std::to_string(run.first_bucket->value()) + "B");
  }
  const std::array<std::pair<const char*, std::optional<bool>>, 4> switches{
      {{"training.find_unused_parameters", run.find_unused_parameters},
       {"training.gradient_as_bucket_view", run.gradient_as_bucket_view},
       {"training.static_graph", run.static_graph},
       {"training.broadcast_buffers", run.broadcast_buffers}}};
  for (const auto& [key, value] : switches) {
    if (value) settings.emplace_back(key, as_key(*value));
  }
  if (run.library == "nccl" || run.library == "gloo" || run.library == "mpi") {
    settings.emplace_back("collective.library", run.library);
  }
  if (run.world_size) settings.emplace_back("gpus", std::to_string(*run.world_size));
}

// What the figures are, as torch takes them: from the first bucket's all-reduce to the end of the
// last one, gaps between them and late ranks included.
void add_meaning(const Run& run, RunRecord& record) {
  const bool has_times = std::ranges::any_of(
      run.ranks, [](const auto& one) { return one.second.average.backward.has_value(); });
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

void add_doubts(const Run& run, RunRecord& record) {
  if (run.runs > 1) {
    record.notes.push_back(
        std::to_string(run.runs) +
        " runs in one text: the last one is shown; give each in a file of its own");
  }
  const auto told = static_cast<std::size_t>(
      std::ranges::count_if(run.ranks, [](const auto& one) { return one.first.has_value(); }));
  if (run.world_size && told > 0 && told < *run.world_size) {
    record.notes.push_back("of " + std::to_string(*run.world_size) + " ranks " +
                           std::to_string(told) + (told == 1 ? " is" : " are") + " told of");
  }
  for (const auto& [rank, one] : run.ranks) {
    if (!one.average.is_contradictory()) continue;
    record.notes.push_back("rank " + (rank ? std::to_string(*rank) : "-") +
                           ": its overlap is longer than its communication, so what is exposed is "
                           "not told");
    break;
  }
  if (run.cut_off > 0) {
    record.notes.push_back(std::to_string(run.cut_off) +
                           (run.cut_off == 1 ? " dictionary is" : " dictionaries are") +
                           " cut off: what is there is taken");
  }
  if (run.mixed > 0) {
    record.notes.push_back(std::to_string(run.mixed) + (run.mixed == 1 ? " line" : " lines") +
                           " left out: messages of several ranks are in one another");
  }
  if (run.unreadable > 0) {
    record.notes.push_back(std::to_string(run.unreadable) + " values left out: no numbers");
  }
}

}  // namespace

bool is_ddp_logging(std::string_view text) {
  if (!may_begin_text(text.substr(0, first_of_json))) return false;
  // Traces of profilers are JSON, and long.
  if (begins_as_json(text)) text = text.substr(0, first_of_json);
  // The cap of buckets stands in recordings of ours, too (torch/).
  constexpr std::array<std::string_view, 6> signs{
      "DDP Initialized with:",          "Avg backward comm. time:", "'total_parameter_size_bytes'",
      "\"total_parameter_size_bytes\"", "'avg_backward_comm_time'", "\"avg_backward_comm_time\""};
  return std::ranges::any_of(
      signs, [&](std::string_view sign) { return text.find(sign) != std::string_view::npos; });
}

RunRecord read_ddp_logging(std::string_view text) {
  const Run run = ddp_logging::run_of(ddp_logging::reports_of(plain_text(text)));
  RunRecord record;
  record.title = "DistributedDataParallel's logging data";
  if (run.world_size) record.title += " of a run of " + std::to_string(*run.world_size) + " ranks";
  add_facts(run, record);
  add_slowest(run, record);
  add_exposed(run, record);
  add_times(run, false, "averages by rank", record);
  add_times(run, true, "the last iteration that torch sampled, by rank", record);
  add_buckets(run, record);
  add_settings(run, record);
  add_doubts(run, record);
  add_meaning(run, record);
  return record;
}

}  // namespace paceline::traces
