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
#include "traces/learn/seen_steps.h"
#include "traces/replay/replay.h"

namespace paceline {
namespace {

using training::OperationKind;

// The first rank's compute between collectives: a layer group is what makes one bucket ready.
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

using traces::SeenSteps;

// Of a step; less is not worth a line.
constexpr double idle_worth_a_line = 0.1, late_worth_a_line = 0.02, spread_worth_a_line = 0.05;

std::string rank_named(const Import& import, std::size_t trace) {
  const auto& rank = import.traces[trace].rank;
  return rank ? fmt::format("rank {}", rank->value()) : import.files[trace];
}

std::string of_several(const Import& import, std::size_t trace) {
  return import.traces.size() > 1 ? " of " + rank_named(import, trace) : "";
}

// Of the rank that idles most. On a host that is its own device nothing idles but for that host.
void write_idle(std::ostream& out, const Import& import, const SeenSteps& seen) {
  const auto idle = [](const SeenSteps::OfRank& rank) {
    return rank.length > Seconds(0) ? 1 - rank.busy / rank.length : 0.0;
  };
  const auto most = std::ranges::max_element(seen.ranks, {}, idle);
  if (idle(*most) < idle_worth_a_line) return;
  const auto trace = static_cast<std::size_t>(most - seen.ranks.begin());
  fmt::print(out, "the {}{} is busy for {} of {} of a step; the rest it waits for its host\n",
             import.traces[trace].work_is_of_host ? "host" : "GPU", of_several(import, trace),
             to_text(most->busy), to_text(most->length));
}

void write_input(std::ostream& out, const Import& import, const SeenSteps& seen) {
  const auto most = std::ranges::max_element(seen.ranks, {}, &SeenSteps::OfRank::input);
  if (most->input < most->length * late_worth_a_line) return;
  const auto trace = static_cast<std::size_t>(most - seen.ranks.begin());
  fmt::print(out, "the host{} waits for its input (DataLoader) for {} of {} of a step\n",
             of_several(import, trace), to_text(most->input), to_text(most->length));
}

void write_late(std::ostream& out, const Import& import, const SeenSteps& seen) {
  constexpr std::size_t most = 3;
  std::vector<std::size_t> late;
  for (std::size_t t = 0; t < seen.ranks.size(); ++t) {
    const SeenSteps::OfRank& rank = seen.ranks[t];
    if (rank.late > rank.length * late_worth_a_line) late.push_back(t);
  }
  std::ranges::stable_sort(late, std::ranges::greater{},
                           [&](std::size_t t) { return seen.ranks[t].late; });
  for (std::size_t i = 0; i < std::min(late.size(), most); ++i) {
    fmt::print(out, "{} is late: it joins collectives up to {} after the first rank\n",
               rank_named(import, late[i]), to_text(seen.ranks[late[i]].late));
  }
  if (late.size() > most) fmt::print(out, "and {} more ranks are late\n", late.size() - most);
}

using traces::CalledLate;
using traces::TracedCollective;
using traces::UnfinishedCall;

// Its rank, or its file where it has none.
std::string who(const Import& import, std::size_t trace) {
  const auto& rank = import.traces[trace].rank;
  return rank ? std::to_string(index(*rank)) : "of " + import.files[trace];
}

// "rank 3", "ranks 0, 1, 2 and 12 more".
std::string listed(const std::vector<std::string>& ranks) {
  constexpr std::size_t most = 16;
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < std::min(ranks.size(), most); ++i) {
    text += (i == 0 ? "" : ", ") + ranks[i];
  }
  if (ranks.size() > most) text += fmt::format(" and {} more", ranks.size() - most);
  return text;
}

std::string listed(const Import& import, const std::vector<UnfinishedCall::OnRank>& ranks) {
  std::vector<std::string> names;
  for (const auto& at : ranks) names.push_back(who(import, at.trace));
  return listed(names);
}

const TracedCollective& traced(const Import& import, const UnfinishedCall::OnRank& at) {
  return import.traces[at.trace].collectives[at.collective];
}

const UnfinishedCall::OnRank& first_of(const UnfinishedCall& call) {
  return call.waiting.empty() ? call.ended.front() : call.waiting.front();
}

std::string spelled(const Import& import, const UnfinishedCall& call) {
  const TracedCollective& one = traced(import, call);
  const std::string size =
      one.count ? fmt::format(" of {} elements", one.count->value()) : std::string();
  return fmt::format("{} {}{} in group {}", one.kind, call.sequence, size, call.group);
}

// Ranks that called something else under its number: the first of them.
std::string mismatch(const Import& import, const UnfinishedCall& call) {
  const TracedCollective& one = traced(import, call);
  for (const auto* list : {&call.waiting, &call.ended}) {
    for (const auto& at : *list) {
      const std::string& kind = traced(import, at).kind;
      if (kind == one.kind) continue;
      return fmt::format("; rank {} called {} there, rank {} {}", who(import, first_of(call).trace),
                         one.kind, who(import, at.trace), kind);
    }
  }
  return "";
}

void write_unfinished(std::ostream& out, const Import& import, const UnfinishedCall& call) {
  std::vector<std::string> lacking, not_given;
  for (const std::size_t trace : call.lacking) lacking.push_back(who(import, trace));
  for (const Rank rank : call.not_given) not_given.push_back(std::to_string(index(rank)));
  const std::string what = spelled(import, call);
  if (!lacking.empty()) {
    fmt::print(out, "{} had not come to {}", listed(lacking), what);
    if (!call.waiting.empty()) fmt::print(out, ", where {} waited", listed(import, call.waiting));
  } else {
    fmt::print(out, "{} had not ended {}, to which all of the given had come",
               listed(import, call.waiting), what);
  }
  if (!call.ended.empty()) {
    fmt::print(out, "; {} had ended it", listed(import, call.ended));
  }
  fmt::print(out, "{}\n", mismatch(import, call));
  if (call.later > 0) {
    fmt::print(out, "  behind it {} more of the group {} called and not ended\n", call.later,
               call.later == 1 ? "was" : "were");
  }
  if (!not_given.empty()) {
    fmt::print(out, "  give the files of {}, too: they may be what is waited for\n",
               listed(not_given));
  }
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

void write_seen_steps(std::ostream& out, const Import& import) {
  if (std::ranges::all_of(import.traces, traces::is_forward_only)) {
    out << "forward only: no training step (no backward, gradient or optimizer is in it)\n";
  }
  const SeenSteps seen = traces::seen_steps(import.traces, import.steps, import.matched);
  if (seen.lengths.empty()) return;
  write_idle(out, import, seen);
  write_input(out, import, seen);
  write_late(out, import, seen);
  const Seconds least = seen.lengths.front(), most = seen.lengths.back();
  if (most > least * (1 + spread_worth_a_line)) {
    fmt::print(out, "steps differ: {} of them take from {} to {}\n", seen.lengths.size(),
               to_text(least), to_text(most));
  }
}

const TracedCollective& traced(const Import& import, const UnfinishedCall& call) {
  return traced(import, first_of(call));
}

void write_unfinished(std::ostream& out, const Import& import) {
  const auto calls = traces::unfinished_calls(import.traces);
  if (calls.empty()) return;
  out << "not ended when the files were written:\n";
  for (const UnfinishedCall& call : calls) {
    out << "  ";
    write_unfinished(out, import, call);
  }
  out << '\n';
}

void write_called_late(std::ostream& out, const Import& import, Rows rows) {
  const auto late = traces::calls_by_clock(import.traces);
  if (late.empty()) return;
  fmt::print(out,
             "\nwhen ranks called their collectives, behind the first of them: right as far as the "
             "hosts' clocks agree\n");
  TextTable table({"rank", "was last", "behind, median", "at most"}, 1);
  const auto add = [&](TextTable& to, const CalledLate& one) {
    to.add(
        {who(import, one.trace), std::to_string(one.last), to_text(one.median), to_text(one.most)});
  };
  write_heaviest(out, table, late, &CalledLate::median, "most behind", rows, add);
}

}  // namespace paceline
