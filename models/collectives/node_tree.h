#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace paceline::collectives {

// ncclGetBtree's tree over 0..n-1: leaves and inner vertices alternate, the root is 0, and a vertex
// with lowest set bit b has its children at b/2 before and behind it, or nearer within bounds.
//
// Source: NCCL, src/graph/trees.cc (18a07eee).
struct BinaryTree {
  std::uint32_t vertices;

  [[nodiscard]] std::optional<std::uint32_t> parent(std::uint32_t v) const;
  [[nodiscard]] std::vector<std::uint32_t> children(std::uint32_t v) const;
  [[nodiscard]] std::uint32_t depth(std::uint32_t v) const;
  [[nodiscard]] std::uint32_t deepest() const;  // of all vertices
};

// ncclGetDtree's two trees over nodes: the first has node v at vertex v, the second is its mirror
// image (even number of nodes) or moved by one (odd).
struct NodeTree {
  BinaryTree tree;
  bool second;

  [[nodiscard]] std::optional<std::uint32_t> parent(std::uint32_t node) const;
  [[nodiscard]] std::vector<std::uint32_t> children(std::uint32_t node) const;
  [[nodiscard]] std::uint32_t depth(std::uint32_t node) const {
    return tree.depth(vertex_of(node));
  }

 private:
  [[nodiscard]] std::uint32_t vertex_of(std::uint32_t node) const;
  [[nodiscard]] std::uint32_t node_at(std::uint32_t vertex) const;
};

}  // namespace paceline::collectives
