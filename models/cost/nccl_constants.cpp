#include "models/cost/nccl_constants.h"

#include "models/contract.h"

namespace paceline::cost::nccl {
namespace {

std::size_t row(Architecture gpu) { return static_cast<std::size_t>(gpu); }
std::size_t row(Hop hop) { return static_cast<std::size_t>(hop); }

// One hop of a kind that only Simple takes.
ByProtocol simple_only(double latency) { return {0, 0, latency}; }

// Before 2.25 Blackwell is taken for a Hopper.
Architecture known(Release release, Architecture gpu) {
  return gpu == Architecture::blackwell && release.minor < 25 ? Architecture::hopper : gpu;
}

// Volta's to Blackwell's row, and what Blackwell's became.
struct Largest {
  std::array<ByNodes, 4> rows;
  std::uint32_t changed_minor;
  ByNodes changed;

  [[nodiscard]] ByNodes of(Release release, Architecture gpu) const {
    if (gpu == Architecture::blackwell && release.minor >= changed_minor) return changed;
    return rows[row(known(release, gpu))];
  }
};

}  // namespace

ByProtocol base_latency(Release release, Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::tree: return {6.8, 14.0, release.minor >= 23 ? 8.4 : 0.0};
    case Algorithm::ring: return {6.6, 14.0, 8.4};
    case Algorithm::collnet_direct:
    case Algorithm::collnet_chain:
      return release.minor <= 18 ? ByProtocol{6.8, 14.0, 0} : ByProtocol{};
    case Algorithm::nvls:
    case Algorithm::nvls_tree: return simple_only(release.minor <= 18 ? 23.0 : 0.0);
    case Algorithm::pat: return simple_only(8.0);
  }
  PACELINE_UNREACHABLE("an algorithm outside the enumeration");
}

ByProtocol hop_latency(Release release, Hop hop, Algorithm algorithm) {
  const std::size_t at = row(hop);
  const std::uint32_t minor = release.minor;
  switch (algorithm) {
    case Algorithm::tree: {
      constexpr std::array<std::array<double, 2>, 3> short_ones{
          {{.6, 1.25}, {1.0, 1.9}, {5.0, 8.5}}};
      constexpr std::array<double, 3> of_2_18{4, 6, 14}, since_2_23{4, 4, 14};
      const double simple = minor <= 18 ? of_2_18[at] : minor <= 22 ? 28 : since_2_23[at];
      return {short_ones[at][0], short_ones[at][1], simple};
    }
    case Algorithm::ring: {
      constexpr std::array<ByProtocol, 3> all{{{.6, 1.9, 3.4}, {1.0, 2.5, 5.7}, {2.7, 4.0, 14.0}}};
      return all[at];
    }
    case Algorithm::collnet_direct: {
      constexpr ByNodes of_2_18{8.0, 8.0, 10.7}, later{3.7, 3.7, 31};
      return simple_only((minor <= 18 ? of_2_18 : later)[at]);
    }
    case Algorithm::collnet_chain: {
      constexpr ByNodes of_2_18{4.75, 8.0, 14}, later{2.8, 2.8, 30};
      return simple_only((minor <= 18 ? of_2_18 : later)[at]);
    }
    case Algorithm::nvls:
    case Algorithm::nvls_tree: {
      if (hop == Hop::nvlink) return simple_only(minor <= 18 ? 0 : minor <= 20 ? 23 : 25);
      if (hop == Hop::pci) return {};
      if (algorithm == Algorithm::nvls) return simple_only(18);
      return simple_only(minor <= 18 ? 19 : minor <= 28 ? 14 : 20.9);
    }
    case Algorithm::pat: return simple_only(hop == Hop::net ? 14 : 4);
  }
  PACELINE_UNREACHABLE("an algorithm outside the enumeration");
}

double network_overhead(Processor processor) { return processor == Processor::amd ? 2.0 : 1.0; }

ByNodes ll_max(Release release, Architecture gpu) {
  constexpr ByNodes volta{39.0, 39.0, 20.4}, ampere{87.7, 22.5, 19.0}, hopper{141.0, 45.0, 35.0},
      blackwell{282, 90, 70};
  switch (gpu) {
    case Architecture::volta: return volta;
    case Architecture::ampere: return ampere;
    case Architecture::hopper: return release.minor <= 20 ? ampere : hopper;
    case Architecture::blackwell:
      return release.minor <= 20 ? ampere : release.minor <= 24 ? hopper : blackwell;
  }
  PACELINE_UNREACHABLE("an architecture outside the enumeration");
}

ByNodes ring_ll128_max(Release release, Architecture gpu) {
  constexpr Largest largest{{{{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 36.7}, {73.4, 73.4, 73.4}}},
                            29,
                            {34.5, 34.6, 34.5}};
  return largest.of(release, gpu);
}

ByNodes tree_max(Release release, Architecture gpu) {
  constexpr Largest largest{
      {{{26.5, 18.5, 10.0}, {24.0, 23.6, 17.8}, {38.7, 41.4, 36.0}, {77.4, 82.8, 72.0}}},
      28,
      {70.0, 42.8, 24.0}};
  return largest.of(release, gpu);
}

ByNodes tree_ll128_max(Release release, Architecture gpu) {
  constexpr Largest largest{{{{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29.0}, {73.4, 73.4, 58.0}}},
                            28,
                            {55.6, 31.67, 20.0}};
  return largest.of(release, gpu);
}

ByNodes nvls_tree_max(Release release, Architecture gpu) {
  constexpr Largest largest{
      {{{26.5, 18.5, 10.0}, {24.0, 23.6, 17.8}, {0, 57.7, 45.5}, {0, 96.0, 43.1}}},
      29,
      {0, 96.0, 43.8}};
  return largest.of(release, gpu);
}

double nvls_efficiency(Architecture gpu) {
  return gpu == Architecture::blackwell ? .74 : .85;  // older GPUs have no NVLS
}

double tree_correction(Release release, Protocol protocol, unsigned log_size) {
  constexpr std::array<std::array<double, 23>, protocol_count> all{
      {{1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1},
       {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1},
       {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5,
        .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9}}};
  constexpr ByProtocol next_since_2_29{1, 1, .9};
  const auto& of_protocol = all[static_cast<std::size_t>(protocol)];
  if (log_size < of_protocol.size()) return of_protocol[log_size];
  const bool is_next = log_size == of_protocol.size() && release.minor >= 29;
  return is_next ? next_since_2_29[static_cast<std::size_t>(protocol)] : 1;
}

}  // namespace paceline::cost::nccl
