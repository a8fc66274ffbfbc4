#include "models/collectives/registry.h"

#include <array>

#include "models/collectives/algorithms.h"
#include "models/registered_rows.h"

namespace paceline::collectives {
namespace {

constexpr Traits channels{.channels = true}, chunks_and_channels{true, true},
    trees{.channels = true, .chunk_size = true, .trees_over_nodes = true},
    servers{.root_may_be_server = true};

constexpr std::array registered{
    Algorithm{Collective::all_reduce, "ring", ring_all_reduce,
              "reduce-scatter, then all-gather, between neighbours; one channel an order",
              Reduces::endpoints, channels},
    Algorithm{Collective::all_reduce, "segmented_ring", segmented_ring_all_reduce,
              "ring in segments of at most 1 MiB, two under way, as Gloo's"},
    Algorithm{Collective::all_reduce, "halving_doubling", halving_doubling_all_reduce,
              "recursive halving, then recursive doubling; any rank count"},
    Algorithm{Collective::all_reduce, "recursive_doubling", recursive_doubling_all_reduce,
              "whole buffers between partners at doubling distances; any rank count"},
    Algorithm{Collective::all_reduce, "direct", direct_all_reduce,
              "every rank to every other, twice"},
    Algorithm{Collective::all_reduce, "binomial_tree", binomial_tree_all_reduce,
              "reduce to rank 0 and broadcast, whole buffers"},
    Algorithm{Collective::all_reduce, "double_binary_tree", double_binary_tree_all_reduce,
              "two trees over nodes with chains inside, half of the data each, up and down at once",
              Reduces::endpoints, trees},
    Algorithm{Collective::all_reduce, "hierarchical", hierarchical_all_reduce,
              "reduce-scatter inside nodes, all-reduce across, all-gather inside",
              Reduces::endpoints, channels},
    Algorithm{Collective::all_reduce, "ring_2d", ring_2d_all_reduce,
              "rings along rows and columns, both at a time"},
    Algorithm{Collective::all_reduce, "parameter_server", parameter_server_all_reduce,
              "shares to servers, beside ranks or separate, and the sums back"},
    Algorithm{Collective::all_reduce, "near_halving_doubling", near_halving_doubling_all_reduce,
              "halving_doubling with the nearest partners first, as Open MPI's"},
    Algorithm{Collective::all_reduce, "binomial_fan_out", binomial_fan_out_all_reduce,
              "binomial tree up, and down to all children at once, as Open MPI's"},
    Algorithm{Collective::all_reduce, "nvls", nvls_all_reduce,
              "sums and copies by the nodes' switches, two trees across nodes, as NCCL's NVLS and "
              "NVLSTree",
              Reduces::switches, trees},
    Algorithm{Collective::all_reduce, "collnet_direct", collnet_direct_all_reduce,
              "sums over nodes by the network's switches, within by heads, as NCCL's CollNetDirect",
              Reduces::network, chunks_and_channels},
    Algorithm{Collective::all_reduce, "collnet_chain", collnet_chain_all_reduce,
              "sums over nodes by the network's switches, within along chains, as NCCL's "
              "CollNetChain",
              Reduces::network, chunks_and_channels},
    Algorithm{Collective::reduce_scatter, "ring", ring_reduce_scatter,
              "first half of the ring; one channel an order", Reduces::endpoints, channels},
    Algorithm{Collective::reduce_scatter, "recursive_halving", recursive_halving_reduce_scatter,
              "halves between partners at halving distances; any rank count"},
    Algorithm{Collective::reduce_scatter, "pat", pat_reduce_scatter,
              "up a binomial tree for each chunk, all at a time, as NCCL's PAT"},
    Algorithm{Collective::reduce_scatter, "direct", direct_reduce_scatter,
              "every chunk to its owner at once"},
    Algorithm{Collective::reduce_scatter, "nvls", nvls_reduce_scatter,
              "chunks summed by a lone node's switch, as NCCL's NVLS; over nodes a ring",
              Reduces::switch_of_one_node, chunks_and_channels},
    Algorithm{Collective::all_gather, "ring", ring_all_gather,
              "second half of the ring; one channel an order", Reduces::endpoints, channels},
    Algorithm{Collective::all_gather, "recursive_doubling", recursive_doubling_all_gather,
              "all one has, between partners at doubling distances; any rank count"},
    Algorithm{Collective::all_gather, "bruck", bruck_all_gather,
              "chunks round the ranks in ceil(log2 p) steps"},
    Algorithm{Collective::all_gather, "pat", pat_all_gather,
              "down a binomial tree for each chunk, all at a time, as NCCL's PAT"},
    Algorithm{Collective::all_gather, "direct", direct_all_gather,
              "every chunk to every rank at once"},
    Algorithm{Collective::all_gather, "nvls", nvls_all_gather,
              "chunks copied by a lone node's switch, as NCCL's NVLS; over nodes a ring",
              Reduces::switch_of_one_node, chunks_and_channels},
    Algorithm{Collective::broadcast, "binomial_tree", binomial_tree_broadcast,
              "whole buffers down a binomial tree"},
    Algorithm{Collective::broadcast, "chain", chain_broadcast,
              "chunk after chunk along a line from the root; one channel an order",
              Reduces::endpoints, chunks_and_channels},
    Algorithm{Collective::broadcast, "binomial_fan_out", binomial_fan_out_broadcast,
              "whole buffers down a binomial tree, to all children at once"},
    Algorithm{Collective::broadcast, "rotated_fan_out", rotated_fan_out_broadcast,
              "binomial_fan_out with ranks numbered from the root on, as Gloo's"},
    Algorithm{Collective::broadcast, "direct", direct_broadcast,
              "whole buffers from the root, which may be a server, to every rank at once",
              Reduces::endpoints, servers},
    Algorithm{Collective::reduce, "binomial_tree", binomial_tree_reduce,
              "whole buffers up a binomial tree"},
    Algorithm{Collective::reduce, "chain", chain_reduce,
              "chunk after chunk along a line to the root; one channel an order",
              Reduces::endpoints, chunks_and_channels},
    Algorithm{Collective::reduce, "direct", direct_reduce,
              "whole buffers from every rank to the root at once; the root may be a server",
              Reduces::endpoints, servers},
    Algorithm{Collective::all_to_all, "pairwise", pairwise_all_to_all,
              "each block in a step of its own, to the rank i further in step i"},
    Algorithm{Collective::scatter, "direct", direct_scatter,
              "every chunk from the root to its owner at once"},
    Algorithm{Collective::scatter, "binomial_tree", binomial_tree_scatter,
              "chunks down a binomial tree, to each child those of all below it"},
    Algorithm{Collective::gather, "direct", direct_gather,
              "every chunk from its owner to the root at once"},
    Algorithm{Collective::gather, "binomial_tree", binomial_tree_gather,
              "chunks up a binomial tree, from each child those of all below it"},
};

RegisteredRows<Algorithm>& registered_rows() {
  static RegisteredRows<Algorithm> rows(registered);
  return rows;
}

}  // namespace

std::span<const Algorithm> algorithms() { return registered_rows().all(); }

void add_algorithm(const Algorithm& row) {
  PACELINE_EXPECTS(!row.name.empty() && row.name != automatic && row.build != nullptr);
  registered_rows().add(row, [](const Algorithm& a, const Algorithm& b) {
    return a.collective == b.collective && a.name == b.name;
  });
}

const Algorithm* find_algorithm(Collective collective, std::string_view name) {
  for (const Algorithm& row : algorithms()) {
    if (row.collective == collective && row.name == name) return &row;
  }
  return nullptr;
}

}  // namespace paceline::collectives
