#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <string>
#include <tuple>

#include "models/stats/quantile.h"
#include "models/text/number.h"
#include "models/units/parse.h"
#include "traces/horovod_timeline/engine.h"
#include "traces/json/on_demand.h"
#include "traces/run_record/readers.h"
#include "traces/text/format_error.h"
#include "traces/text/lines.h"

namespace paceline::traces {
namespace {

using horovod::Engine;
using horovod::FusedCall;
using horovod::TimelineText;
using horovod::Times;
using stats::quantile;
using Cell = RunRecord::Cell;
using Table = RunRecord::Table;

Cell time_or_none(const Times& times) {
  if (times.empty()) return RunRecord::cell_of(std::optional<Seconds>());
  return seconds_of(stats::lower_median(times));
}

// Rows by a weight, the largest first, and no more than a table may have.
template <class Weight>
Table largest(Table table, std::vector<std::pair<Weight, std::vector<Cell>>> rows,
              const std::string& what, std::vector<std::string>& notes) {
  std::ranges::stable_sort(rows, std::ranges::greater(), [](const auto& row) { return row.first; });
  if (rows.size() > RunRecord::rows_most) {
    notes.push_back(
        fmt::format("of {} {} the largest {} are listed", rows.size(), what, RunRecord::rows_most));
    rows.resize(RunRecord::rows_most);
  }
  for (auto& [weight, cells] : rows) table.rows.push_back(std::move(cells));
  return table;
}

// Where the time of a tensor goes: negotiations, operations and what they are made of.
Table activities(const Engine& engine, std::vector<std::string>& notes) {
  std::vector<std::pair<Seconds, std::vector<Cell>>> rows;
  for (const auto& [name, times] : engine.lengths) {
    Seconds all;
    for (const TraceTime time : times) all += seconds_of(time);
    rows.push_back(
        {all,
         {engine.name(name), std::uint64_t{times.size()}, seconds_of(stats::lower_median(times)),
          seconds_of(quantile(times, 9)), seconds_of(*std::ranges::max_element(times))}});
  }
  return largest({"what tensors were in, each of a fused call for itself",
                  {"activity", "times", "median", "nine tenths below", "longest"}},
                 std::move(rows), "activities", notes);
}

Table calls(const Engine& engine, std::vector<std::string>& notes) {
  using Like = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint64_t>;
  std::map<Like, std::vector<Seconds>> alike;
  for (const FusedCall& call : engine.calls) {
    if (!call.has_ended) continue;
    const std::uint64_t bytes = call.sized == call.tensors ? call.bytes : 0;
    alike[{call.operation, call.library, call.tensors, bytes}].push_back(call.transfer);
  }
  std::vector<std::pair<Seconds, std::vector<Cell>>> rows;
  for (const auto& [like, times] : alike) {
    const auto& [operation, library, tensors, bytes] = like;
    const Seconds transfer = stats::lower_median(times);
    const bool has_rate = bytes > 0 && transfer > Seconds(0);
    rows.push_back(
        {std::accumulate(times.begin(), times.end(), Seconds(0)),
         {engine.name(operation), engine.name(library), std::uint64_t{tensors},
          bytes > 0 ? Cell(Bytes(bytes)) : Cell(std::string("-")), std::uint64_t{times.size()},
          transfer, has_rate ? Cell(Bytes(bytes) / transfer) : Cell(std::string("-"))}});
  }
  return largest({"calls, the longest together first: tensors that one call sends in one buffer",
                  {"operation", "by", "tensors", "size", "calls", "transfer", "size/transfer"}},
                 std::move(rows), "kinds of calls", notes);
}

Table ranks(const Engine& engine, std::vector<std::string>& notes) {
  std::vector<std::pair<Seconds, std::vector<Cell>>> rows;
  for (const auto& [rank, ticks] : engine.ranks) {
    rows.push_back(
        {ticks.held_up,
         {std::uint64_t{rank}, ticks.last, ticks.held_up, ticks.first, time_or_none(ticks.behind),
          seconds_of(*std::ranges::max_element(ticks.behind))}});
  }
  return largest(
      {"ranks, by how long the others waited for them, where a tensor's ranks are named",
       {"rank", "was last", "others waited", "was first", "behind the first", "at most"}},
      std::move(rows), "ranks", notes);
}

Table tensors(const Engine& engine, std::vector<std::string>& notes) {
  std::vector<std::pair<std::uint64_t, std::vector<Cell>>> rows;
  for (const auto& [process, tensor] : engine.tensors) {
    if (tensor.operations == 0) continue;
    const auto or_none = [](const std::string& text) { return text.empty() ? "-" : text; };
    rows.push_back(
        {tensor.size ? tensor.size->value() : 0,
         {tensor.name.empty() ? fmt::format("process {}", process) : tensor.name,
          or_none(tensor.shape), or_none(tensor.type), RunRecord::cell_of(tensor.size),
          tensor.operations, time_or_none(tensor.negotiations), time_or_none(tensor.transfers)}});
  }
  return largest({"tensors, the largest first",
                  {"tensor", "shape", "type", "size", "operations", "negotiation", "transfer"}},
                 std::move(rows), "tensors", notes);
}

// What the file ends in the middle of: of a run that hung, what it waited for.
Table still_negotiated(const Engine& engine, std::vector<std::string>& notes) {
  std::vector<std::pair<TraceTime, std::vector<Cell>>> rows;
  for (const auto& [process, tensor] : engine.tensors) {
    if (tensor.open.empty() || !engine.is_negotiation(tensor.open.back().name)) continue;
    std::string came;
    for (const auto& [rank, at] : tensor.ticks) {
      if (came.size() > 40) {
        came += ", ...";
        break;
      }
      came += (came.empty() ? "" : ", ") + std::to_string(rank);
    }
    const TraceTime waited = std::max<TraceTime>(*engine.last - tensor.open.back().start, 0);
    rows.push_back({waited,
                    {tensor.name.empty() ? fmt::format("process {}", process) : tensor.name,
                     seconds_of(waited), came.empty() ? "not told" : came}});
  }
  return largest({"still waited for when the file ends, the longest first",
                  {"tensor", "since", "ranks that had it"}},
                 std::move(rows), "tensors still waited for", notes);
}

void add_calls(const Engine& engine, RunRecord& record) {
  std::uint64_t fused = 0, most_tensors = 0, largest = 0, sent = 0;
  std::vector<std::uint64_t> sizes, counts;
  for (const FusedCall& call : engine.calls) {
    if (call.tensors > 1) ++fused;
    counts.push_back(call.tensors);
    most_tensors = std::max<std::uint64_t>(most_tensors, call.tensors);
    if (call.sized < call.tensors || call.bytes == 0) continue;
    sizes.push_back(call.bytes);
    if (call.tensors > 1) largest = std::max(largest, call.bytes);
    ++sent;
  }
  record.facts.push_back({"calls", std::uint64_t{engine.calls.size()}});
  if (engine.calls.empty()) return;
  record.facts.push_back({"calls of several tensors", fused});
  record.facts.push_back({"tensors a call, median", stats::lower_median(counts)});
  record.facts.push_back({"tensors a call, most", most_tensors});
  if (sent > 0)
    record.facts.push_back({"size of a call, median", Bytes(stats::lower_median(sizes))});
  if (largest == 0) return;
  record.facts.push_back({"largest fused call", Bytes(largest)});
  record.notes.push_back(fmt::format(
      "the fusion threshold is {} or more, as the largest fused call shows, unless "
      "its tensors were grouped (hvd.grouped_allreduce); the file does not tell it: set "
      "training.fusion_threshold where it is not the default",
      to_text(Bytes(largest))));
}

// Most cycles do little and last as long as the engine sleeps; where fewer than half are alike, as
// long as what they did.
void add_cycles(const Engine& engine, RunRecord& record) {
  if (engine.cycles.empty()) {
    record.notes.push_back(
        "no cycle is marked: with HOROVOD_TIMELINE_MARK_CYCLES=1 the file tells the cycle time "
        "and what negotiating takes");
    return;
  }
  const TraceTime shortest = quantile(engine.cycles, 1),
                  middle = stats::lower_median(engine.cycles);
  Times off;
  for (const TraceTime cycle : engine.cycles) off.push_back(std::abs(cycle - middle));
  record.facts.push_back({"cycles", std::uint64_t{engine.cycles.size()}});
  record.facts.push_back({"cycle, median", seconds_of(middle)});
  record.facts.push_back({"cycle, median deviation", seconds_of(stats::lower_median(off))});
  record.facts.push_back({"cycle, nine tenths above", seconds_of(shortest)});
  const bool are_alike = seconds_of(middle) <= seconds_of(shortest) * 1.5;
  constexpr std::size_t cycles_least = 10;
  if (are_alike && engine.cycles.size() >= cycles_least && middle > 0) {
    record.settings.emplace_back("training.cycle_time", to_text(seconds_of(middle)));
  } else {
    record.notes.push_back(
        "fewer than half of the cycles are as short as the shortest: they last as long as what "
        "they do, and do not tell training.cycle_time");
  }
  if (engine.until_operation.empty()) return;
  const Seconds negotiated = seconds_of(stats::lower_median(engine.until_operation));
  record.facts.push_back({"from a wake to its first operation, median", negotiated});
  if (engine.until_operation.size() < cycles_least || negotiated == Seconds(0)) return;
  record.settings.emplace_back("training.negotiation", to_text(negotiated));
}

void add_negotiations(const Engine& engine, RunRecord& record) {
  Times all;
  for (const auto& [name, times] : engine.lengths) {
    if (engine.is_negotiation(name)) all.insert(all.end(), times.begin(), times.end());
  }
  if (!all.empty()) {
    record.facts.push_back(
        {"from the first rank ready to the last, median", seconds_of(stats::lower_median(all))});
    record.facts.push_back(
        {"from the first rank ready to the last, nine tenths below", seconds_of(quantile(all, 9))});
    record.facts.push_back({"negotiations", engine.negotiations});
    record.facts.push_back({"negotiations that name ranks", engine.with_ticks});
  }
  if (engine.with_ticks < engine.negotiations) {
    record.notes.push_back(fmt::format(
        "{} of {} negotiations name no rank: Horovod answers from its cache what it has seen, and "
        "then writes how long ranks were waited for, not which (HOROVOD_CACHE_CAPACITY=0 has "
        "them all)",
        engine.negotiations - engine.with_ticks, engine.negotiations));
  }
}

// Within nodes by NCCL, across them by MPI: only the hierarchical all-reduce does both.
bool is_hierarchical(const Engine& engine) {
  bool scatters = false, crosses = false;
  for (const auto& [name, times] : engine.lengths) {
    scatters = scatters || engine.name(name) == "NCCL_REDUCESCATTER";
    crosses = crosses || engine.name(name) == "MPI_ALLREDUCE";
  }
  return scatters && crosses;
}

void add_left_out(const Engine& engine, const TimelineText& found, RunRecord& record) {
  if (found.broken > 0) {
    record.notes.push_back(fmt::format("left out: {}, the first in line {}: {}",
                                       counted(found.broken, "piece") + " of what is no event",
                                       found.first_broken_line, found.first_broken));
  }
  if (found.is_cut) record.notes.push_back("the last event is cut off, and left out");
  if (engine.ended > 0) {
    record.notes.push_back(counted(engine.ended, "end") +
                           " without a beginning: the file begins in the middle of a run");
  }
  record.notes.push_back(
      "all as rank 0, or whichever wrote the file, saw it; a transfer ends where its host saw "
      "that, and begins where what came before it on the GPU was seen to end");
}

// Precondition: the engine has a first and a last time.
RunRecord told_of(const Engine& engine, const TimelineText& found) {
  RunRecord record;
  const std::uint64_t ranks_named = engine.ranks.empty() ? 0 : engine.ranks.rbegin()->first + 1U;
  record.title = ranks_named > 0 ? "Horovod's timeline of " + counted(ranks_named, "rank")
                                 : "Horovod's timeline";
  record.facts.push_back({"length", seconds_of(*engine.last) - seconds_of(*engine.first)});
  record.facts.push_back({"events", found.events});
  std::uint64_t named = 0, bytes = 0;
  for (const auto& [process, tensor] : engine.tensors) {
    if (tensor.operations > 0) ++named;
    if (tensor.size) bytes += tensor.size->value();
  }
  record.facts.push_back({"tensors", named});
  if (bytes > 0) record.facts.push_back({"size of all tensors", Bytes(bytes)});
  if (!engine.between.empty()) {
    record.facts.push_back({"from a tensor's operation to its next, median",
                            seconds_of(stats::lower_median(engine.between))});
  }
  record.settings.emplace_back("training.strategy", "horovod");
  add_negotiations(engine, record);
  add_calls(engine, record);
  add_cycles(engine, record);
  if (is_hierarchical(engine)) {
    record.settings.emplace_back("training.hierarchical_allreduce", "true");
  }
  for (Table table : {still_negotiated(engine, record.notes), ranks(engine, record.notes),
                      activities(engine, record.notes), calls(engine, record.notes),
                      tensors(engine, record.notes)}) {
    record.add(std::move(table));
  }
  add_left_out(engine, found, record);
  return record;
}

}  // namespace

bool is_horovod_timeline(std::string_view text) {
  // What is cut out of a file may begin with an event.
  std::string_view beginning = beginning_of_array(text);
  if (beginning.empty()) beginning = beginning_of_object(text);
  return contains(beginning, "\"ph\"") && !contains(beginning, "\"traceEvents\"") &&
         contains_any(beginning,
                      {"\"NEGOTIATE_", "\"CYCLE_START\"", "\"start_time_since_epoch_in_micros\""});
}

RunRecord read_horovod_timeline(std::string_view text) {
  horovod::Engine engine;
  const horovod::TimelineText found = horovod::for_each_event(
      plain_text(text), [&](const horovod::TimelineEvent& event) { engine.take(event); });
  if (!engine.first) {
    throw FormatError(0, "is a timeline of Horovod without an event that has a time",
                      "give the file after some steps: HOROVOD_TIMELINE names it");
  }
  return told_of(engine, found);
}

}  // namespace paceline::traces
