#pragma once

#include <algorithm>
#include <initializer_list>
#include <vector>

#include "models/topology/fabric.h"

// What paths cross, for several tests.
namespace paceline::topology {

using Kinds = std::vector<LinkKind>;

inline std::vector<LinkId> links_of(const Fabric& fabric, const Port& port) {
  const auto links = fabric.links_of(port);
  return {links.begin(), links.end()};
}

inline std::vector<LinkId> out_links(const Fabric& fabric, std::uint32_t from, std::uint32_t to) {
  return links_of(fabric, fabric.out_ports().at(fabric.path(Rank(from), Rank(to)).out));
}

inline std::vector<LinkId> in_links(const Fabric& fabric, std::uint32_t from, std::uint32_t to) {
  return links_of(fabric, fabric.in_ports().at(fabric.path(Rank(from), Rank(to)).in));
}

inline std::vector<LinkId> all_links(const Fabric& fabric, std::uint32_t from, std::uint32_t to) {
  auto links = out_links(fabric, from, to);
  for (const LinkId link : in_links(fabric, from, to)) links.push_back(link);
  return links;
}

inline std::vector<double> bandwidths(const Fabric& fabric, const std::vector<LinkId>& links) {
  std::vector<double> result;
  for (const LinkId link : links) result.push_back(fabric.links().at(link).bandwidth.value());
  return result;
}

inline std::vector<double> list(std::initializer_list<BytesPerSecond> values) {
  std::vector<double> result;
  for (const BytesPerSecond value : values) result.push_back(value.value());
  return result;
}

inline bool share(const std::vector<LinkId>& a, const std::vector<LinkId>& b) {
  return std::any_of(a.begin(), a.end(),
                     [&](LinkId link) { return std::find(b.begin(), b.end(), link) != b.end(); });
}

inline Kinds kinds(const Fabric& fabric, const std::vector<LinkId>& links) {
  Kinds result;
  for (const LinkId link : links) result.push_back(fabric.links().at(link).kind);
  return result;
}

}  // namespace paceline::topology
