#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "models/run/call_times.h"
#include "models/units/parse.h"
#include "scenarios/import/summaries.h"
#include "scenarios/text_table.h"
#include "traces/replay/critical_path.h"
#include "traces/replay/replay.h"

namespace paceline {
namespace {

using training::OperationKind;

// Compute between one collective and the next, of the first rank: a layer group is what makes one
// bucket ready.
void write_groups(std::ostream& out, const StepTrace& trace, Rows rows) {
  TextTable table({"compute", "time", "gradients", "then", "size", "transfer", "skew"}, 1);
  const auto calls = calls_of(trace);
  std::vector<Seconds> transfers;
  for (const CallTimes& call : calls) transfers.push_back(call.transfer);
  const auto written = written_rows(transfers, rows);
  std::size_t next = 0, gradients = 0;
  std::map<OperationKind, Seconds> times;
  const auto told = [&] {
    std::string kinds;
    Seconds sum;
    for (const auto& [kind, time] : times) {
      if (time <= Seconds(0)) continue;
      kinds += (kinds.empty() ? "" : ", ") + std::string(to_text(kind));
      sum += time;
    }
    return std::pair(kinds.empty() ? "-" : kinds, to_text(sum));
  };
  for (const Span& span : spans_of(trace, trace.classes.front())) {
    const training::Operation& operation = span.operation;
    if (span.call() != nullptr) {
      const CallTimes& call = calls[next];
      if (!std::ranges::binary_search(written, next++)) continue;
      const auto [kinds, time] = told();
      table.add({kinds, time, std::to_string(gradients), operation.name, to_text(call.size),
                 to_text(call.transfer), to_text(call.skew)});
      times.clear();
      gradients = 0;
    } else if (operation.kind != OperationKind::input) {
      times[operation.kind] += span.duration();
      gradients += operation.gradients.size();
    }
  }
  const auto [kinds, time] = told();
  table.add({kinds, time, std::to_string(gradients), "", "", "", ""});
  table.write(out);
  out << left_out(calls.size(), written.size(), "longest transfers");
}

Seconds time_of(const StepTrace& trace, const RankClass& members, bool late) {
  Seconds sum;
  for (const Span& span : spans_of(trace, members)) {
    if (span.call() != nullptr || span.operation.kind == OperationKind::launch) continue;
    if ((span.operation.kind == OperationKind::input) == late) sum += span.duration();
  }
  return sum;
}

std::string named(const std::vector<Rank>& ranks) {
  const std::string first = "rank " + std::to_string(ranks.front().value());
  return ranks.size() == 1 ? first : fmt::format("{} and {} like it", first, ranks.size() - 1);
}

// Those that compute 5 % longer than the median, or begin as much of the step late.
void write_stragglers(std::ostream& out, const TracedRun& traced) {
  constexpr double much = 0.05;
  const StepTrace& trace = traced.run.trace;
  const auto& classes = trace.classes;
  if (classes.size() < 2) return;
  std::vector<Seconds> computes;
  for (const RankClass& members : classes) {
    computes.insert(computes.end(), members.ranks.size(), time_of(trace, members, false));
  }
  std::ranges::sort(computes);
  const Seconds median = computes[(computes.size() - 1) / 2];
  for (const RankClass& members : classes) {
    const Seconds compute = time_of(trace, members, false), late = time_of(trace, members, true);
    if (compute > median * (1 + much)) {
      fmt::print(out, "straggler: {} computes {}, {:.0f} % more than the median\n",
                 named(members.ranks), to_text(compute), 100 * (compute / median - 1));
    }
    if (late > traced.step * much) {
      fmt::print(out, "straggler: {} begins {} late\n", named(members.ranks), to_text(late));
    }
  }
}

void write_path(std::ostream& out, const TracedRun& traced) {
  const auto& operations = traced.run.trace.program.operations;
  std::map<Rank, Seconds> compute;
  Seconds transfer, sum;
  for (const traces::PathPart& part : traces::critical_path(traced.run.trace)) {
    sum += part.time;
    const bool is_call = call_of(operations[part.operation]) != nullptr;
    (is_call ? transfer : compute[part.rank]) += part.time;
  }
  fmt::print(out, "critical path:");
  for (const auto& [rank, time] : compute) {
    if (time > Seconds(0)) fmt::print(out, " compute of rank {} {},", rank.value(), to_text(time));
  }
  fmt::print(out, " transfer {}", to_text(transfer));
  if (traced.step > sum * 1.001) fmt::print(out, ", idle {}", to_text(traced.step - sum));
  out << '\n';
}

// The device idles where its host is late, and beside a collective that time is exposed; replay
// takes it for compute, which goes with the step wherever it runs.
void write_difference(std::ostream& out, const TracedRun& traced, Seconds replayed) {
  constexpr double hardly = 0.01;
  if (!traced.exposed_on_device) return;
  const Seconds on_device = *traced.exposed_on_device;
  const Seconds difference = on_device > replayed ? on_device - replayed : replayed - on_device;
  if (difference <= traced.step * hardly) return;
  fmt::print(out,
             "  (on the device {}: what it idles for its host beside a collective is compute in a "
             "replay, and what it waits for other ranks is theirs)\n",
             to_text(on_device));
}

}  // namespace

void write_step(std::ostream& out, const TracedRun& traced, Rows rows) {
  const StepTotals totals = totals_of(traced.run.trace);
  fmt::print(out, "\nthe step that replay takes: {}, {}, exposed communication {}\n",
             traced.run.name, to_text(traced.step), to_text(totals.exposed_communication));
  write_difference(out, traced, totals.exposed_communication);
  write_groups(out, traced.run.trace, rows);
  write_stragglers(out, traced);
  write_path(out, traced);
  for (const std::string& assumption : traced.run.assumptions)
    fmt::print(out, "  {}\n", assumption);
}

}  // namespace paceline
