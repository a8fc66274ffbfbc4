#include "traces/collective_log/collective_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "traces/text/lines.h"

namespace paceline::traces {
namespace {

using collectives::Collective;

enum class Factor { whole, part, twice };  // 1, (n-1)/n, 2(n-1)/n

struct Printed {
  Collective collective;
  Factor factor;
  bool reduces, has_root;
};

constexpr std::array printed{Printed{Collective::all_reduce, Factor::twice, true, false},
                             Printed{Collective::reduce_scatter, Factor::part, true, false},
                             Printed{Collective::all_gather, Factor::part, false, false},
                             Printed{Collective::all_to_all, Factor::part, false, false},
                             Printed{Collective::broadcast, Factor::whole, false, true},
                             Printed{Collective::reduce, Factor::whole, true, true},
                             Printed{Collective::gather, Factor::part, false, true},
                             Printed{Collective::scatter, Factor::part, false, true}};

const Printed* printed_of(Collective collective) {
  for (const Printed& one : printed) {
    if (one.collective == collective) return &one;
  }
  return nullptr;
}

double factor_of(Factor factor, double ranks) {
  if (factor == Factor::whole) return 1;
  return (factor == Factor::twice ? 2 : 1) * (ranks - 1) / ranks;
}

// Before 2.10 collectives without operation or root print neither, but all-to-alls the operation's
// column. JSON may lack the root.
bool allows_columns(const Evidence& evidence, const Printed& one) {
  if (evidence.reduces.value_or(false) != one.reduces) return false;
  if (evidence.root) return (*evidence.root >= 0) == one.has_root;
  if (!evidence.reduces) return one.collective == Collective::all_gather;
  return !one.has_root || one.collective == Collective::broadcast;
}

// The least and the most ranks whose factor is as near as decimals allow.
std::pair<double, double> ranks_between(const Evidence& evidence, Factor factor) {
  const double most = factor == Factor::twice ? 2 : 1;
  const double low = evidence.bus_factor - evidence.bus_factor_off;
  const double high = evidence.bus_factor + evidence.bus_factor_off;
  const double ranks_low = most / (most - low);
  return {ranks_low, high >= most ? ranks_most : most / (most - high)};
}

}  // namespace

void Evidence::take(const Evidence& row) {
  if (!reduces) reduces = row.reduces;
  if (!root) root = row.root;
  if (!(row.bus_factor > 0)) return;
  if (bus_factor > 0 && row.bus_factor_off >= bus_factor_off) return;
  bus_factor = row.bus_factor;
  bus_factor_off = row.bus_factor_off;
}

bool agrees(const Evidence& row, const Evidence& table) {
  if (!(row.bus_factor > 0) || !(table.bus_factor > 0)) return true;
  return std::abs(row.bus_factor - table.bus_factor) <= row.bus_factor_off + table.bus_factor_off;
}

Evidence agreed(const std::vector<Evidence>& rows) {
  // Of the factors whose decimals tell most that which most rows have.
  constexpr std::size_t tried_most = 16;
  std::vector<const Evidence*> told;
  for (const Evidence& row : rows) {
    if (row.bus_factor > 0) told.push_back(&row);
  }
  const std::size_t tried = std::min(told.size(), tried_most);
  std::ranges::partial_sort(told, told.begin() + static_cast<std::ptrdiff_t>(tried), {},
                            &Evidence::bus_factor_off);
  Evidence best;
  std::ptrdiff_t most = 0;
  for (std::size_t i = 0; i < tried; ++i) {
    // As near as either's decimals, so that one that is a little off does not draw the others.
    const auto alike = std::ranges::count_if(told, [&](const Evidence* row) {
      return std::abs(row->bus_factor - told[i]->bus_factor) <=
             std::max(row->bus_factor_off, told[i]->bus_factor_off);
    });
    if (alike <= most) continue;
    most = alike;
    best = *told[i];
  }
  for (const Evidence& row : rows) {
    if (!best.reduces) best.reduces = row.reduces;
    if (!best.root) best.root = row.root;
  }
  return best;
}

bool allows(const Evidence& evidence, Collective collective, std::uint32_t ranks) {
  const Printed* one = printed_of(collective);
  if (one == nullptr) return true;
  if (evidence.says_something() && !allows_columns(evidence, *one)) return false;
  if (!(evidence.bus_factor > 0)) return true;
  if (ranks > 1 || one->factor == Factor::whole) {
    return std::abs(evidence.bus_factor - factor_of(one->factor, ranks)) <= evidence.bus_factor_off;
  }
  const double most = one->factor == Factor::twice ? 2 : 1;
  if (evidence.bus_factor - evidence.bus_factor_off >= most) return false;
  const auto [low, high] = ranks_between(evidence, one->factor);
  return std::floor(high) >= std::max(2.0, std::ceil(low));
}

bool allows_exchange(const Evidence& evidence) {
  return evidence.bus_factor > 0 && std::abs(evidence.bus_factor - 1) <= evidence.bus_factor_off &&
         evidence.root.value_or(-1) < 0;
}

std::vector<Collective> may_be(const Evidence& evidence, std::uint32_t ranks) {
  std::vector<Collective> found;
  if (!(evidence.bus_factor > 0)) return found;
  for (const Printed& one : printed) {
    if (allows(evidence, one.collective, ranks)) found.push_back(one.collective);
  }
  return found;
}

std::string listed(const std::vector<Collective>& collectives) {
  std::string all;
  for (std::size_t i = 0; i < collectives.size(); ++i) {
    const bool is_last = i + 1 == collectives.size();
    all += i == 0 ? "" : is_last ? " or " : ", ";
    all += to_text(collectives[i]);
  }
  return all;
}

std::uint32_t ranks_by_factor(const Evidence& evidence, Collective collective) {
  const Printed* one = printed_of(collective);
  if (one == nullptr || one->factor == Factor::whole || !allows(evidence, collective, 0)) return 0;
  if (!(evidence.bus_factor > 0)) return 0;
  const auto [low, high] = ranks_between(evidence, one->factor);
  const double first = std::max(2.0, std::ceil(low));
  return std::floor(high) == first ? static_cast<std::uint32_t>(first) : 0;
}

std::string why_not(const Evidence& evidence, Collective collective, std::uint32_t ranks) {
  const Printed* one = printed_of(collective);
  if (one == nullptr) return "";
  if (const bool reduces = evidence.reduces.value_or(false); reduces != one->reduces) {
    return fmt::format("its rows name {} operation (redop), and {} {}", reduces ? "an" : "no",
                       to_text(collective), one->reduces ? "has one" : "has none");
  }
  if (evidence.root && (*evidence.root >= 0) != one->has_root) {
    return fmt::format("its rows have {} root, and {} has {}", *evidence.root >= 0 ? "a" : "no",
                       to_text(collective), one->has_root ? "one" : "none");
  }
  const std::string factor = fmt::format("busbw is {:.4g} of algbw", evidence.bus_factor);
  if (ranks < 2) return factor + ", of " + std::string(to_text(collective)) + " it is never";
  return fmt::format("{}, of {} on {} GPUs {:.4g}", factor, to_text(collective), ranks,
                     factor_of(one->factor, ranks));
}

Comment comment_of(const std::vector<std::string_view>& words) {
  Comment said;
  if (words.size() < 3 || words[0] != "#") return said;
  const auto number = number_of<std::uint32_t>(words[2]);
  if (number && *number > 0 && *number <= ranks_most) {
    if (words[1] == "GPUs:") said.ranks = number;
    if (words[1] == "nodes:") said.nodes = number;
  }
  if (words[1] == "collective:") said.collective = from_text<collectives::Collective>(words[2]);
  return said;
}

}  // namespace paceline::traces
