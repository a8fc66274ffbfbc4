#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "models/units/parse.h"
#include "scenarios/import/summaries.h"
#include "scenarios/text_table.h"

namespace paceline {
namespace {

using traces::CalledLate;
using traces::DeviceTrace;
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

// Of any rank that has it.
const UnfinishedCall::OnRank& first_of(const UnfinishedCall& call) {
  return call.waiting.empty() ? call.ended.front() : call.waiting.front();
}

}  // namespace

const TracedCollective& traced(const Import& import, const UnfinishedCall& call) {
  return traced(import, first_of(call));
}

namespace {

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
  std::vector<Seconds> weights;
  for (const CalledLate& one : late) weights.push_back(one.median);
  const auto written = written_rows(weights, rows);
  for (const std::size_t row : written) {
    const CalledLate& one = late[row];
    table.add(
        {who(import, one.trace), std::to_string(one.last), to_text(one.median), to_text(one.most)});
  }
  table.write(out);
  out << left_out(late.size(), written.size(), "most behind");
}

}  // namespace paceline
