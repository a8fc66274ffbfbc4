#include "models/collectives/node_tree.h"

#include <algorithm>

namespace paceline::collectives {

std::optional<std::uint32_t> BinaryTree::parent(std::uint32_t v) const {
  if (v == 0) return std::nullopt;
  const std::uint32_t bit = v & (~v + 1);
  const std::uint32_t up = (v ^ bit) | (bit << 1U);
  return up < vertices ? up : v ^ bit;
}

std::vector<std::uint32_t> BinaryTree::children(std::uint32_t v) const {
  std::vector<std::uint32_t> result;
  std::uint32_t reach = v == 0 ? 1 : (v & (~v + 1)) / 2;
  while (v == 0 && 2 * reach < vertices) reach *= 2;
  if (v != 0 && reach > 0) result.push_back(v - reach);
  while (reach > 0 && v + reach >= vertices) reach /= 2;
  if (reach > 0) result.push_back(v + reach);
  return result;
}

std::uint32_t BinaryTree::depth(std::uint32_t v) const {
  std::uint32_t edges = 0;
  for (auto up = parent(v); up; up = parent(*up)) ++edges;
  return edges;
}

std::uint32_t BinaryTree::deepest() const {
  std::uint32_t result = 0;
  for (std::uint32_t v = 0; v < vertices; ++v) result = std::max(result, depth(v));
  return result;
}

std::optional<std::uint32_t> NodeTree::parent(std::uint32_t node) const {
  const auto up = tree.parent(vertex_of(node));
  return up ? std::optional(node_at(*up)) : std::nullopt;
}

std::vector<std::uint32_t> NodeTree::children(std::uint32_t node) const {
  std::vector<std::uint32_t> result = tree.children(vertex_of(node));
  for (std::uint32_t& child : result) child = node_at(child);
  return result;
}

std::uint32_t NodeTree::vertex_of(std::uint32_t node) const {
  if (!second) return node;
  if (tree.vertices % 2 == 0) return tree.vertices - 1 - node;
  return (node + tree.vertices - 1) % tree.vertices;
}

std::uint32_t NodeTree::node_at(std::uint32_t vertex) const {
  if (!second) return vertex;
  if (tree.vertices % 2 == 0) return tree.vertices - 1 - vertex;
  return (vertex + 1) % tree.vertices;
}

}  // namespace paceline::collectives
