#include "scenarios/loader/load_collective.h"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/collectives/hierarchical.h"
#include "models/collectives/registry.h"

namespace paceline::loader {
namespace {

constexpr std::array<std::string_view, 10> collective_keys{
    "library",    "version", "protocol", "algorithm", "channels",
    "chunk_size", "inner",   "outer",    "servers",   "server_placement"};

// A value under a key, unless it is left to the algorithm.
std::optional<Field> find_unless_auto(Reader& reader, const char* key) {
  auto field = reader.find(key);
  if (field && field->text() == "auto") field.reset();
  return field;
}

void read_algorithm_options(Reader& reader, collectives::AlgorithmOptions& options) {
  if (const auto channels = find_unless_auto(reader, "channels")) {
    options.channels = static_cast<std::uint32_t>(channels->count(1, 64));
  }
  if (const auto size = find_unless_auto(reader, "chunk_size")) options.chunk_size = size->bytes();
  const auto inner = collectives::inner_algorithms(), outer = collectives::outer_algorithms();
  if (const auto name = reader.find("inner")) options.inner = inner[name->word(inner)];
  if (const auto name = reader.find("outer")) options.outer = outer[name->word(outer)];
  if (const auto servers = find_unless_auto(reader, "servers")) {
    options.servers = static_cast<std::uint32_t>(servers->count(1, 1'000'000));
  }
  constexpr std::array<std::string_view, 2> placements{"colocated", "separate"};
  if (const auto placement = reader.find("server_placement")) {
    options.separate_servers = placement->word(placements) == 1;
  }
}

// What of NCCL's choice is fixed: its version, algorithm and protocol.
void read_nccl(Reader& reader, CollectiveSettings& collective) {
  const auto version = reader.find("version"), protocol = reader.find("protocol");
  for (const auto& field : {version, protocol}) {
    if (field && collective.library != cost::Library::nccl) {
      field->fail("is for library: nccl", "leave it out");
    }
  }
  if (collective.library != cost::Library::nccl) return;
  if (version) {
    collective.nccl_minor = cost::nccl::Release::minor_of(version->text());
    if (!collective.nccl_minor) version->fail("is no version of NCCL", "write \"2.18\"");
  }
  constexpr std::array<std::string_view, 4> protocols{"auto", "ll", "ll128", "simple"};
  if (const std::size_t which = protocol ? protocol->word(protocols) : 0; which > 0) {
    collective.nccl.protocol = cost::nccl::protocols_all[which - 1];
  }
  const auto algorithm = reader.find("algorithm");
  if (algorithm && algorithm->text() == "ring") {
    collective.nccl.algorithm = cost::nccl::Algorithm::ring;
  } else if (algorithm &&
             (algorithm->text() == "tree" || algorithm->text() == "double_binary_tree")) {
    collective.nccl.algorithm = cost::nccl::Algorithm::tree;
  }
}

}  // namespace

CollectiveSettings load_collective(Reader reader, cost::Library unless_named) {
  reader.expect_only(collective_keys);
  CollectiveSettings collective;
  collective.library = unless_named;
  if (const auto library = reader.find("library")) {
    collective.library = library->word<cost::Library>();
  }
  read_nccl(reader, collective);
  const auto algorithm = reader.find("algorithm");
  if (algorithm && algorithm->text() != "auto" && !collective.nccl.algorithm) {
    std::vector<std::string_view> known;
    for (const auto& row : collectives::algorithms()) {
      if (row.collective == collectives::Collective::all_reduce) known.push_back(row.name);
    }
    collective.algorithm = std::string(known[algorithm->word(known)]);
    if (collective.nccl.protocol) {
      algorithm->fail("is none of NCCL's, so it has no protocol", "leave protocol out");
    }
  }
  read_algorithm_options(reader, collective.options);
  reader.finish();
  return collective;
}

}  // namespace paceline::loader
