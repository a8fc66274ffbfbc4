#include "models/cost/library_choice.h"

#include "models/collectives/registry.h"
#include "models/contract.h"

namespace paceline::cost {
namespace {

using collectives::Collective;

// libnbc's own choice (nbc_iallreduce.c): below four ranks or 64 KiB a tree, else Rabenseifner's
// algorithm. (Its ring is for fewer elements than ranks, which 64 KiB never are here.)
std::string mpi_all_reduce(Bytes size, RankCount ranks) {
  constexpr Bytes small_below{65536};
  const bool is_tree = ranks < RankCount(4) || size < small_below;
  return is_tree ? "binomial_fan_out" : "near_halving_doubling";
}

constexpr AssumptionKind reduce_as_tree{
    "{}: reduce-scatter and gather to the root are modelled as binomial_tree"};
constexpr AssumptionKind reduce_scatter_as_ring{
    "{}: reduction of the whole buffer to rank 0 and scatter are modelled as ring"};
constexpr AssumptionKind all_to_all_as_pairwise{
    "{}: an all-to-all that sends all blocks at once is modelled as pairwise"};

AlgorithmChoice for_mpi(Collective collective, Bytes size, RankCount ranks) {
  switch (collective) {
    case Collective::all_reduce: return {mpi_all_reduce(size, ranks)};
    case Collective::broadcast:  // nbc_ibcast.c, where sizes are not looked at by default
      return {ranks <= RankCount(4) ? "direct" : "binomial_fan_out"};
    case Collective::reduce: return {"binomial_tree", Assumption(reduce_as_tree, "mpi")};
    case Collective::reduce_scatter: return {"ring", Assumption(reduce_scatter_as_ring, "mpi")};
    case Collective::all_gather: return {"direct"};  // nbc_iallgather.c
    case Collective::all_to_all: return {"pairwise", Assumption(all_to_all_as_pairwise, "mpi")};
    case Collective::scatter:
    case Collective::gather: return {"direct"};  // nbc_iscatterv.c, nbc_igatherv.c
  }
  PACELINE_UNREACHABLE("a collective outside the enumeration");
}

std::string all_reduce_of(Library library) {
  if (library == Library::nccl) return "ring";
  return library == Library::gloo ? "segmented_ring" : std::string(collectives::automatic);
}

}  // namespace

AlgorithmChoice choose_algorithm(Library library, Collective collective, Bytes size,
                                 RankCount ranks) {
  if (library == Library::mpi) return for_mpi(collective, size, ranks);
  switch (collective) {
    case Collective::all_reduce: return {all_reduce_of(library)};
    case Collective::broadcast:
      if (library == Library::gloo) return {"rotated_fan_out"};
      [[fallthrough]];
    case Collective::reduce: return {library == Library::nccl ? "chain" : "binomial_tree"};
    case Collective::reduce_scatter:
    case Collective::all_gather: return {"ring"};
    case Collective::all_to_all: return {"pairwise"};
    case Collective::scatter:
    case Collective::gather: return {library == Library::plan ? "binomial_tree" : "direct"};
  }
  PACELINE_UNREACHABLE("a collective outside the enumeration");
}

std::string blocking_mpi_all_reduce(Bytes size) {
  return size < Bytes(10'000) ? "recursive_doubling" : "ring";
}

std::uint32_t default_in_flight(Library library) { return library == Library::gloo ? 2 : 1; }

}  // namespace paceline::cost
