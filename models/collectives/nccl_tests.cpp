#include "models/collectives/nccl_tests.h"

#include "models/contract.h"

namespace paceline::collectives {
namespace {

// Whether every rank has a part of its own of the bytes that a call is said to have.
bool has_parts(Collective collective) {
  switch (collective) {
    case Collective::reduce_scatter:
    case Collective::all_gather:
    case Collective::all_to_all:
    case Collective::scatter:
    case Collective::gather: return true;
    case Collective::all_reduce:
    case Collective::broadcast:
    case Collective::reduce: return false;
  }
  PACELINE_UNREACHABLE("a collective outside the enumeration");
}

}  // namespace

double bus_factor(Collective collective, RankCount ranks) {
  PACELINE_EXPECTS(ranks > RankCount(0));
  const double part = (ranks.value() - 1.0) / ranks.value();
  if (collective == Collective::all_reduce) return 2 * part;
  return has_parts(collective) ? part : 1;
}

bool is_reducing(Collective collective) {
  return collective == Collective::all_reduce || collective == Collective::reduce_scatter ||
         collective == Collective::reduce;
}

ElementCount tested_count(Collective collective, RankCount ranks, Bytes asked, ElementSize size) {
  PACELINE_EXPECTS(ranks > RankCount(0));
  const std::uint64_t whole = asked.value() / size.value();
  if (!has_parts(collective)) return ElementCount(whole);
  constexpr std::uint64_t line_bytes = 16;
  const std::uint64_t line = line_bytes / size.value();
  return ElementCount(whole / ranks.value() / line * line * ranks.value());
}

ElementCount count_column(Collective collective, RankCount ranks, ElementCount count) {
  PACELINE_EXPECTS(ranks > RankCount(0));
  return has_parts(collective) ? ElementCount(count.value() / ranks.value()) : count;
}

}  // namespace paceline::collectives
