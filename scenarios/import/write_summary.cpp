#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <ostream>
#include <string>
#include <tuple>
#include <utility>

#include "models/text/number.h"
#include "models/units/parse.h"
#include "scenarios/errors.h"
#include "scenarios/import/import.h"
#include "scenarios/import/summaries.h"
#include "scenarios/text_table.h"
#include "traces/learn/seen_steps.h"

namespace paceline {
namespace {

using traces::DeviceTrace;
using traces::ProfiledCall;
using traces::StepProfile;
using traces::TracedCollective;

constexpr const char* none = "-";

std::string text_of(const std::optional<Seconds>& time) { return time ? to_text(*time) : none; }

void write_steps(std::ostream& out, const Import& import) {
  out << '\n';
  TextTable table(
      {"rank", "step", "length", "compute", "communication", "exposed", "calls", "gradients"}, 2);
  for (std::size_t t = 0; t < import.traces.size(); ++t) {
    for (const StepProfile& step : import.steps[t]) {
      table.add({rank_number(import.traces[t]), step.name, text_of(step.length),
                 to_text(step.compute), to_text(step.communication), to_text(step.exposed),
                 std::to_string(step.calls.size()), std::to_string(step.gradients)});
    }
  }
  table.write(out);
}

// Calls that are alike: kind, elements, bytes an element, group.
using Likeness = std::tuple<std::string, std::uint64_t, std::uint64_t, std::uint32_t>;

Likeness likeness_of(const TracedCollective& call) {
  return {call.kind, call.count ? call.count->value() : 0,
          call.element_size ? call.element_size->value() : 0, call.group_size};
}

struct Alike {
  std::size_t calls = 0;
  std::vector<Seconds> on_device;
};

std::string or_none(std::uint64_t number) { return number > 0 ? std::to_string(number) : none; }

// A row for each kind and size, in the order of their first calls.
struct Calls {
  std::vector<Likeness> order;
  std::map<Likeness, Alike> alike;

  void add(const TracedCollective& call) {
    const Likeness likeness = likeness_of(call);
    if (!alike.contains(likeness)) order.push_back(likeness);
    Alike& of = alike[likeness];
    ++of.calls;
    if (call.device) {
      of.on_device.push_back(traces::seconds_of(call.device->end) -
                             traces::seconds_of(call.device->start));
    }
  }
};

// Of the first rank: those of its steps, or all where the trace has no steps.
void write_calls(std::ostream& out, const Import& import, Rows rows) {
  const DeviceTrace& trace = import.traces.front();
  const bool has_steps = !import.steps.front().empty();
  Calls calls;
  std::size_t steps = 0;
  for (const StepProfile& step : import.steps.front()) {
    if (!step.calls.empty()) ++steps;
    for (const ProfiledCall& call : step.calls) calls.add(trace.collectives[call.collective]);
  }
  if (!has_steps) {
    for (const TracedCollective& call : trace.collectives) calls.add(call);
  }
  if (calls.order.empty()) return;
  const std::string where = has_steps ? "in " + counted(steps, "step") : "in all of the trace";
  fmt::print(out, "\ncollectives of rank {}, {}\n", rank_number(trace), where);
  TextTable table({"kind", "elements", "bytes each", "group", "calls", "least", "most"}, 1);
  const auto time = [&](const Likeness& likeness) {
    const auto& on_device = calls.alike.at(likeness).on_device;
    return std::accumulate(on_device.begin(), on_device.end(), Seconds(0));
  };
  const auto add = [&](TextTable& to, const Likeness& likeness) {
    const auto& [kind, count, size, group] = likeness;
    const Alike& of = calls.alike.at(likeness);
    const auto [least, most] = std::ranges::minmax_element(of.on_device);
    const bool ran = !of.on_device.empty();
    to.add({kind, or_none(count), or_none(size), or_none(group), std::to_string(of.calls),
            ran ? to_text(*least) : none, ran ? to_text(*most) : none});
  };
  write_heaviest(out, table, calls.order, time, "most time", rows, add);
}

void write_matched(std::ostream& out, const Import& import, Rows rows) {
  if (import.matched.calls.empty()) return;
  fmt::print(out,
             "\nthe same collective on several ranks: transfer is the quickest rank's, the rest "
             "waiting\n");
  TextTable table({"kind", "elements", "ranks", "transfer", "skew", "last to begin"}, 1);
  const auto add = [&](TextTable& to, const traces::MatchedCall& call) {
    const auto& first = call.ranks.front();
    const TracedCollective& traced = import.traces[first.trace].collectives[first.collective];
    const auto last = std::ranges::max_element(call.ranks, {}, &traces::MatchedCall::OnRank::late);
    to.add({traced.kind, or_none(traced.count ? traced.count->value() : 0),
            std::to_string(call.ranks.size()), to_text(call.transfer), to_text(call.skew),
            "rank " + rank_number(import.traces[last->trace])});
  };
  write_heaviest(out, table, import.matched.calls, &traces::MatchedCall::skew, "most skew", rows,
                 add);
}

void write_broken(std::ostream& out, const Import& import) {
  for (std::size_t t = 0; t < import.traces.size(); ++t) {
    const DeviceTrace& trace = import.traces[t];
    if (trace.skipped == 0) continue;
    std::string why;
    for (const auto& [reason, events] : trace.skipped_for) {
      why += fmt::format("{}{} with {}", why.empty() ? ": " : ", ", events, reason);
    }
    fmt::print(out, "{}: {} of {} events are broken, and left out{}\n", import.files[t],
               trace.skipped, trace.events, why);
  }
}

void write_profiles(std::ostream& out, const Import& import, Rows rows) {
  write_unfinished(out, import);
  std::size_t steps = 0;
  for (const auto& of_trace : import.steps) steps = std::max(steps, of_trace.size());
  const std::string part = ranks_in_words(import);
  fmt::print(out, "{}, {}{}\n", part.empty() ? counted(import.traces.size(), "rank") : part,
             counted(steps, "step"),
             import.traces.front().device.empty() ? "" : ", " + import.traces.front().device);
  write_broken(out, import);
  write_seen_steps(out, import);
  if (steps > 0) write_steps(out, import);
  write_calls(out, import, rows);
  write_matched(out, import, rows);
  write_called_late(out, import, rows);
}

std::optional<TracedRun> write_replayed(std::ostream& out, const Import& import, Rows rows) {
  try {
    TracedRun traced = profiled_run(import, import.files.front());
    write_step(out, traced, rows);
    return traced;
  } catch (const InputError& error) {
    fmt::print(out, "\nno step to replay: {}\n", error.what());
    return std::nullopt;
  }
}

// One below the other, so that a line is a command.
void write_next(std::ostream& out, const std::vector<NextCommand>& commands) {
  bool is_first = true;
  for (const auto& [command, note] : commands) {
    const std::string& line = command.empty() ? note : command;
    fmt::print(out, "{}{}\n", is_first ? "\nnext: " : "      ", line);
    if (!command.empty() && !note.empty()) fmt::print(out, "        {}\n", note);
    is_first = false;
  }
}

}  // namespace

void write_summary(std::ostream& out, const Import& import, Rows rows) {
  for (const auto& [file, text] : import.notes) fmt::print(out, "{}: {}\n", file, text);
  bool is_first = true;
  const auto next = [&]() -> std::ostream& {  // kind of content: an empty line is between
    if (!std::exchange(is_first, false)) out << '\n';
    return out;
  };
  std::optional<TracedRun> profiled;
  if (!import.traces.empty()) {
    write_profiles(next(), import, rows);
    if (!import.steps.front().empty()) profiled = write_replayed(out, import, rows);
  }
  if (!import.runs.empty()) write_runs(next(), import.runs);
  if (!import.logs.empty()) write_logs(next(), import.logs);
  if (!import.links.empty()) write_links(next(), import.links);
  if (!import.topologies.empty()) write_topologies(next(), import.topologies);
  if (!import.records.empty()) write_records(next(), import.records, rows);
  if (!import.own.empty()) next();
  for (const auto& [file, kind] : import.own) {
    fmt::print(out, "{} {}\n", file, sentence_of(kind, file));
  }
  if (!import.refused.empty()) fmt::print(out, "\nrefused:\n");
  for (const auto& [file, why] : import.refused) fmt::print(out, "  {}: {}\n", file, why);
  write_next(out, next_commands(import, profiled ? &*profiled : nullptr));
}

}  // namespace paceline
