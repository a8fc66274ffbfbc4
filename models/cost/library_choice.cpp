#include "models/cost/library_choice.h"

#include <array>
#include <limits>

#include "models/collectives/registry.h"
#include "models/contract.h"

namespace paceline::cost {
namespace {

using collectives::Collective;

// Open MPI's numbers of its all-reduce algorithms.
enum class OmpiAllReduce {
  nonoverlapping = 2,
  recursive_doubling = 3,
  ring = 4,
  segmented_ring = 5,
  rabenseifner = 6
};

constexpr std::uint64_t any_size = std::numeric_limits<std::uint64_t>::max();

struct Upto {
  std::uint64_t bytes_below;
  OmpiAllReduce algorithm;
};

struct Row {
  std::uint32_t ranks_below;
  std::array<Upto, 7> by_size;  // the first that fits; unused entries repeat the last
};

using enum OmpiAllReduce;

constexpr Upto rest{any_size, rabenseifner};

constexpr std::array ompi_rows{
    Row{4,
        {Upto{8, ring},
         {4096, recursive_doubling},
         {8192, ring},
         {16384, recursive_doubling},
         {65536, ring},
         {262144, segmented_ring},
         rest}},
    Row{8, {Upto{16, ring}, {8192, recursive_doubling}, rest, rest, rest, rest, rest}},
    Row{16, {Upto{8192, recursive_doubling}, rest, rest, rest, rest, rest, rest}},
    Row{32, {Upto{64, segmented_ring}, {4096, recursive_doubling}, rest, rest, rest, rest, rest}},
    Row{64, {Upto{128, segmented_ring}, rest, rest, rest, rest, rest, rest}},
    Row{128, {Upto{262144, recursive_doubling}, rest, rest, rest, rest, rest, rest}},
    Row{256,
        {Upto{131072, nonoverlapping}, {262144, recursive_doubling}, rest, rest, rest, rest, rest}},
    Row{512, {Upto{4096, nonoverlapping}, rest, rest, rest, rest, rest, rest}},
    Row{2048,
        {Upto{2048, nonoverlapping}, {16384, recursive_doubling}, rest, rest, rest, rest, rest}},
    Row{4096,
        {Upto{2048, nonoverlapping},
         {4096, segmented_ring},
         {16384, recursive_doubling},
         rest,
         rest,
         rest,
         rest}},
    Row{std::numeric_limits<std::uint32_t>::max(),
        {Upto{2048, nonoverlapping},
         {16384, segmented_ring},
         {32768, recursive_doubling},
         rest,
         rest,
         rest,
         rest}},
};

OmpiAllReduce ompi_all_reduce(Bytes size, RankCount ranks) {
  for (const Row& row : ompi_rows) {
    if (ranks.value() >= row.ranks_below) continue;
    for (const Upto& upto : row.by_size) {
      if (size.value() < upto.bytes_below) return upto.algorithm;
    }
  }
  return rabenseifner;
}

AlgorithmChoice mpi_all_reduce(Bytes size, RankCount ranks) {
  switch (ompi_all_reduce(size, ranks)) {
    case nonoverlapping:
      return {"binomial_tree", "mpi: reduce and broadcast without overlap as binomial_tree"};
    case recursive_doubling: return {"recursive_doubling", ""};
    case ring: return {"ring", ""};
    case segmented_ring: return {"ring", "mpi: segmented ring as ring"};
    case rabenseifner: return {"halving_doubling", ""};
  }
  PACELINE_UNREACHABLE("an algorithm outside the enumeration");
  return {};
}

AlgorithmChoice for_all_reduce(Library library, Bytes size, RankCount ranks) {
  switch (library) {
    case Library::nccl:
      return {"ring", "nccl: ring at every size; its choice by size and version is not modelled"};
    case Library::gloo: return {"segmented_ring", ""};
    case Library::mpi: return mpi_all_reduce(size, ranks);
    case Library::plan: return {std::string(collectives::automatic), ""};
  }
  PACELINE_UNREACHABLE("a library outside the enumeration");
  return {};
}

}  // namespace

AlgorithmChoice choose_algorithm(Library library, Collective collective, Bytes size,
                                 RankCount ranks) {
  switch (collective) {
    case Collective::all_reduce: return for_all_reduce(library, size, ranks);
    case Collective::broadcast:
    case Collective::reduce: return {library == Library::nccl ? "chain" : "binomial_tree", ""};
    case Collective::reduce_scatter:
    case Collective::all_gather: return {"ring", ""};
    case Collective::all_to_all: return {"pairwise", ""};
  }
  PACELINE_UNREACHABLE("a collective outside the enumeration");
}

std::uint32_t default_in_flight(Library library) { return library == Library::gloo ? 2 : 1; }

}  // namespace paceline::cost
