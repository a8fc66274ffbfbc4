#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "traces/collective_log/collective_log.h"
#include "traces/nccl_tests/nccl_tests.h"

namespace paceline::traces {
namespace {

using collectives::Collective;

constexpr Program known_programs[] = {{"all_reduce", Collective::all_reduce},
                                      {"reduce_scatter", Collective::reduce_scatter},
                                      {"all_gather", Collective::all_gather},
                                      {"broadcast", Collective::broadcast},
                                      {"reduce", Collective::reduce},
                                      {"alltoall", Collective::all_to_all},
                                      {"alltoallv", std::nullopt},
                                      {"gather", Collective::gather},
                                      {"scatter", Collective::scatter},
                                      {"sendrecv", std::nullopt},
                                      {"hypercube", std::nullopt}};

// Whether rows may be of a program; of those without a Collective only sendrecv's factor is known.
bool allows(const Evidence& evidence, const Program& program, std::uint32_t ranks) {
  if (program.collective) {
    return allows(evidence, *program.collective, ranks) || allows(evidence, *program.collective, 0);
  }
  return program.name != "sendrecv" || evidence.bus_factor <= 0 || allows_exchange(evidence);
}

// Ranks that all of the collectives have the factor on; 0: they differ, or it is open.
std::uint32_t ranks_of(const Evidence& evidence, const std::vector<Collective>& collectives) {
  std::uint32_t ranks = 0;
  for (const Collective one : collectives) {
    const std::uint32_t of_one = ranks_by_factor(evidence, one);
    if (of_one == 0 || (ranks > 0 && of_one != ranks)) return 0;
    ranks = of_one;
  }
  return ranks;
}

// Forgets a list whose number of ranks has another factor with every collective.
void hold_list_to_factor(CollectiveLog& log) {
  const Evidence& evidence = log.evidence;
  if (log.ranks == 0 || !(evidence.bus_factor > 0)) return;
  if (log.ranks > 1 && (!may_be(evidence, log.ranks).empty() || allows_exchange(evidence))) return;
  const std::uint32_t found = ranks_of(evidence, may_be(evidence, 0));
  log.notes.push_back(fmt::format(
      "{} GPU{} listed, but busbw / algbw, {:.4g}, is {}: the list is cut, or of another run",
      log.ranks, log.ranks == 1 ? " is" : "s are", evidence.bus_factor,
      found > 0 ? fmt::format("that of {}", found) : "not theirs"));
  log.ranks = log.nodes = 0;
}

// As many as the rows have the factor of, where no list or comment tells.
void set_ranks(const std::vector<Collective>& collectives, bool is_noted, CollectiveLog& log) {
  if (log.ranks > 0) return;
  log.ranks = ranks_of(log.evidence, collectives);
  if (log.ranks == 0 || is_noted) return;
  log.notes.push_back(
      fmt::format("{} GPUs by busbw / algbw, {:.4g}", log.ranks, log.evidence.bus_factor));
}

bool is_of_name(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; }

}  // namespace

std::optional<Program> program_in(std::string_view text) {
  constexpr std::string_view ending = "_perf";
  std::optional<Program> found;
  for (auto at = text.find(ending); at != std::string_view::npos; at = text.find(ending, at + 1)) {
    const std::size_t end = at + ending.size();
    if (end < text.size() && is_of_name(text[end])) continue;
    std::size_t start = at;
    while (start > 0 && is_of_name(text[start - 1])) --start;
    const auto* known =
        std::ranges::find(known_programs, text.substr(start, at - start), &Program::name);
    if (known == std::end(known_programs)) continue;
    if (found && found != *known) return std::nullopt;  // a list of programs
    found = *known;
  }
  return found;
}

std::optional<std::size_t> identify(const std::vector<Program>& programs, bool are_listed,
                                    CollectiveLog& log) {
  const Evidence& evidence = log.evidence;
  const std::size_t notes = log.notes.size();
  if (are_listed) hold_list_to_factor(log);
  const bool is_noted = log.notes.size() > notes;
  std::vector<Collective> named;  // that the rows allow
  for (const Program& program : programs) {
    const bool is_new =
        program.collective && std::ranges::find(named, *program.collective) == named.end();
    if (is_new && allows(evidence, program, log.ranks)) named.push_back(*program.collective);
  }
  if (named.size() > 1) {  // commands before the first of their tables
    set_ranks(named, is_noted, log);
    log.may_be = std::move(named);
    return std::nullopt;
  }
  for (std::size_t i = programs.size(); i-- > 0;) {
    if (!allows(evidence, programs[i], log.ranks)) continue;
    log.collective = programs[i].collective;
    if (!log.collective) log.other = programs[i].name;
    log.known_by = "its program";
    if (log.collective) set_ranks({*log.collective}, is_noted, log);
    return i;
  }
  auto found = may_be(evidence, log.ranks);
  const bool is_exchange = allows_exchange(evidence);
  if (!programs.empty()) {
    const Program& nearest = programs.back();
    log.notes.push_back(fmt::format(
        "{} is named, but {}", nearest.name,
        nearest.collective ? why_not(evidence, *nearest.collective, log.ranks)
                           : fmt::format("busbw is {:.4g} of algbw, not 1", evidence.bus_factor)));
  } else if (found.empty() && is_exchange) {
    log.other = "sendrecv";
    log.known_by = "busbw = algbw";
  } else if (found.size() == 1 && (!is_exchange || found[0] == Collective::all_reduce)) {
    // Pairs that exchange look like an all-reduce of two ranks, and are taken for one.
    log.collective = found[0];
    log.known_by = fmt::format("its operation and busbw / algbw, {:.4g}", evidence.bus_factor);
    set_ranks(found, is_noted, log);
    return std::nullopt;
  }
  if (found.size() > 1) set_ranks(found, is_noted, log);
  log.may_be = std::move(found);
  return std::nullopt;
}

}  // namespace paceline::traces
