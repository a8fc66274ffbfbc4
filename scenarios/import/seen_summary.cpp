#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "models/units/parse.h"
#include "scenarios/import/summaries.h"
#include "traces/learn/seen_steps.h"

namespace paceline {
namespace {

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

// Those that are latest.
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

}  // namespace

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

}  // namespace paceline
