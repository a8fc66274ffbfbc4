#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/collectives/algorithms.h"
#include "models/collectives/registry.h"
#include "scenarios/loader/sections.h"

namespace paceline::loader {
namespace {

constexpr std::array<std::string_view, 3> protocols{"ll", "ll128", "simple"};
constexpr std::array<std::string_view, 2> server_placements{"colocated", "separate"};
// Algorithms of NCCL by their names here, and what to write of those that no other library has.
struct NamedByNccl {
  std::string_view name;
  cost::nccl::Algorithm algorithm;
  const char* instead = nullptr;
};
using cost::nccl::Algorithm;
constexpr std::array named_by_nccl{
    NamedByNccl{"ring", Algorithm::ring},
    NamedByNccl{"double_binary_tree", Algorithm::tree},
    NamedByNccl{"nvls", Algorithm::nvls},
    NamedByNccl{"tree", Algorithm::tree, "write double_binary_tree"},
    NamedByNccl{"nvls_tree", Algorithm::nvls_tree, "write nvls"},
    NamedByNccl{"collnet_direct", Algorithm::collnet_direct, "name another"},
    NamedByNccl{"collnet_chain", Algorithm::collnet_chain, "name another"},
    NamedByNccl{"pat", Algorithm::pat}};

const NamedByNccl* named(std::optional<std::string_view> algorithm) {
  const auto found = std::ranges::find(named_by_nccl, algorithm, &NamedByNccl::name);
  return found == named_by_nccl.end() ? nullptr : &*found;
}

// Unquoted it is a number to YAML.
constexpr std::array version_forms{
    Form{Text{.what = "", .pattern = R"(^2\.[0-9]+(\.[0-9][.0-9]*)?$)"}}, Form{Number{2, 3}}};

// What all-reduces may be named, and all-gathers and reduce-scatters by NCCL.
std::vector<std::string_view> algorithm_names() {
  std::vector<std::string_view> names;
  for (const auto& row : collectives::algorithms()) {
    const bool is_named = row.reduces != collectives::Reduces::network;  // below
    if (row.collective == collectives::Collective::all_reduce && is_named) {
      names.push_back(row.name);
    }
  }
  for (const NamedByNccl& one : named_by_nccl) {
    if (std::ranges::find(names, one.name) == names.end()) names.push_back(one.name);
  }
  return names;
}

constexpr Needs of_hierarchical{
    "algorithm", {"hierarchical"}, "is for algorithm: hierarchical", "leave it out"};
constexpr Needs of_parameter_server{
    "algorithm", {"parameter_server"}, "is for algorithm: parameter_server", "leave it out"};
constexpr Needs of_nccl{"library", {"nccl"}, "is for library: nccl", "leave it out"};

// Of PATH_NVB (src/graph/topo.h); its switch NCCL_NVB_DISABLE is documented from 2.11 on.
constexpr std::uint32_t first_with_nvb = 9;

using cost::nccl::Channels;
using cost::nccl::Release;

// How many, or the limits of that, none above what a release has.
Channels read_channels(Section& section, Release release) {
  Channels channels{.exactly = section.find<std::uint32_t>("channels").value_or(0)};
  for (const auto& [key, value] :
       {std::pair("min_ctas", &channels.least), std::pair("max_ctas", &channels.most)}) {
    const auto given = section.find<std::uint32_t>(key);
    if (!given) continue;
    if (channels.exactly > 0) {
      section.require(key).fail("cannot be combined with channels, which says how many there are",
                                "leave one of the two out");
    }
    if (*given > release.channels_max()) {
      section.require(key).fail(fmt::format("is more channels than NCCL 2.{} has", release.minor),
                                fmt::format("write 1 to {}", release.channels_max()));
    }
    *value = *given;
  }
  if (channels.least > channels.most) {
    section.require("min_ctas").fail("is above max_ctas", "write no more than that");
  }
  return channels;
}

// What of NCCL's choice is fixed. Precondition: the library is NCCL.
void read_nccl(Section& section, CollectiveSettings& collective) {
  if (const auto version = section.field("version")) {
    collective.nccl_minor = Release::minor_of(version->text());
    if (!collective.nccl_minor) version->fail("is not a version of NCCL", "write \"2.18\"");
  }
  if (const auto protocol = section.find<std::uint64_t>("protocol")) {
    collective.nccl.protocol = cost::nccl::protocols_all[*protocol];
  }
  const NamedByNccl* fixed = named(section.find<std::string_view>("algorithm"));
  if (fixed != nullptr) collective.nccl.algorithm = fixed->algorithm;
  collective.nccl.has_nvls = section.find<bool>("nvls").value_or(true);
  const std::uint32_t minor = collective.nccl_minor.value_or(Release::unless_said);
  collective.has_nvb = section.find<bool>("nvb").value_or(true) && minor >= first_with_nvb;
  collective.nccl.channels = read_channels(section, Release::nearest(minor));
}

// Where a key is given; nullopt where it is not, or auto.
std::optional<Location> place_of(Section& section, std::string_view key) {
  if (!section.is_given(key)) return std::nullopt;
  return section.require(key).location();
}

collectives::AlgorithmOptions read_options(const Section& section) {
  return {.channels = section.find<std::uint32_t>("channels").value_or(0),
          .chunk_size = section.find<Bytes>("chunk_size").value_or(Bytes(0)),
          .inner = std::string(section.find<std::string_view>("inner").value_or("")),
          .outer = std::string(section.find<std::string_view>("outer").value_or("")),
          .servers = section.find<std::uint32_t>("servers").value_or(0),
          .separate_servers =
              section.find<std::string_view>("server_placement") == server_placements.back()};
}

}  // namespace

std::span<const Key> collective_keys() {
  static const std::vector<std::string_view> algorithms = algorithm_names();
  static const std::array keys{
      Key{"library", OneOf{texts_of<cost::Library>}, value_of(CollectiveSettings{}.library),
          "nccl, gloo, mpi: what that library does; plan: the algorithm named. With a section "
          "`real` unless given what is measured: its backend's library, or plan for `mode: plan` "
          "and for memory"},
      Key{"version", Structure{"version", rows<version_forms>}, "2.28, assumed",
          "2.18 to 2.30 are modelled, older ones as 2.18, but without `nvb` below 2.9", "\"2.18\"",
          of_nccl},
      Key{"protocol", OneOf{protocols}, automatic, "what NCCL may take", "", of_nccl},
      Key{"algorithm", OneOf{algorithms}, automatic,
          "of all-reduce; auto: what the library does (NCCL: by its own model of the cluster, for "
          "each call), and for `plan` what is predicted to be the fastest, which the report names. "
          "With `library: nccl` ring, tree (or double_binary_tree), nvls and nvls_tree are NCCL's, "
          "with its protocols, and collnet_direct and collnet_chain, where `network.sharp` is "
          "true; others are plans as they are. nvls is for NVSwitch, and no plan that is "
          "measured. pat is for all-gathers and reduce-scatters; NCCL has it from 2.23 on, with "
          "one GPU a node"},
      Key{"nvls", Flag{}, true,
          "whether NCCL may reduce in NVSwitches (NCCL_NVLS_ENABLE), from Hopper on", "", of_nccl},
      Key{"nvb", Flag{}, true,
          "whether NCCL's GPUs of an NVLink mesh without a lane between them use those to a GPU "
          "between (off with NCCL_NVB_DISABLE=1); none older than 2.9 does",
          "", of_nccl},
      Key{"channels", Count{1, 64}, automatic,
          "rings, or pairs of trees, at a time; auto: by topology. With `library: nccl` also what "
          "it chooses by"},
      Key{"min_ctas", Count{1, 64}, automatic,
          "channels that NCCL has at least (NCCL_MIN_CTAS); more than it finds take more of a GPU, "
          "and links carry no more for them",
          "", of_nccl},
      Key{"max_ctas", Count{1, 64}, automatic,
          "channels that NCCL has at most (NCCL_MAX_CTAS); fewer than it finds carry less", "",
          of_nccl},
      Key{"chunk_size", Size{}, automatic,
          "of chains, double trees, nvls and CollNet; auto: 512KiB, and for NCCL's trees, NVLS and "
          "CollNet a power of two that suits size and hops"},
      Key{"inner", OneOf{collectives::inner_algorithms()}, "ring", "of hierarchical, inside a node",
          "", of_hierarchical},
      Key{"outer", OneOf{collectives::outer_algorithms()}, "ring", "of hierarchical, across nodes",
          "", of_hierarchical},
      Key{"servers", Count{1, 1'000'000}, automatic,
          "of parameter_server: how many, at most one a GPU; auto: one a node", "",
          of_parameter_server},
      Key{"server_placement", OneOf{server_placements}, std::uint64_t{0},
          "of parameter_server: colocated with GPUs, or separate: machines of their own", "",
          of_parameter_server},
  };
  return keys;
}

CollectiveSettings load_collective(Section section, cost::Library unless_named) {
  section.assume("library", value_of(unless_named));
  section.finish();
  CollectiveSettings collective;
  collective.library = section.get<cost::Library>("library");
  if (collective.library == cost::Library::nccl) read_nccl(section, collective);
  const auto algorithm = section.find<std::string_view>("algorithm");
  if (algorithm && !collective.nccl.algorithm) {
    const NamedByNccl* of_nccl_only = named(algorithm);
    if (of_nccl_only != nullptr && of_nccl_only->instead != nullptr) {
      section.require("algorithm").fail("belongs to library: nccl", of_nccl_only->instead);
    }
    collective.algorithm = std::string(*algorithm);
    if (collective.nccl.protocol) {
      section.require("algorithm")
          .fail("is not an algorithm of NCCL, so it has no protocol", "leave protocol out");
    }
  }
  collective.options = read_options(section);
  const auto is_axis = [&](std::string_view key) {
    const auto field = section.field(key);
    return field && field->is_of_several();
  };
  if (!is_axis("algorithm") && !is_axis("library")) {
    collective.channels_at = place_of(section, "channels");
    collective.chunk_size_at = place_of(section, "chunk_size");
  }
  return collective;
}

}  // namespace paceline::loader
