#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "models/words.h"

namespace paceline::uncertain {

using paceline::to_text;

// What descriptions of machines leave open, and what steps of several GPUs depend on. Each has one
// value for a machine and workload, but for what by_doubling and row of Priors add. All but `host`
// and `overlap` are logarithms of how many times as long something takes as the model says.
enum class Unknown : std::uint8_t {
  compute,     // one GPU's compute
  wrapper,     // compute on several GPUs over that on one, beyond what the model has
  node_links,  // calls in a node
  network,     // calls that leave their node
  // What a host takes in a strategy's hooks for each gradient beyond what is assumed, in 10 us of
  // DDP's 17 us, and as much of other hooks. 0 or more, but for steps that have their hooks.
  host,
  // Of the time that compute and calls run beside each other, the part by which compute is longer:
  // 0 as the model has it, 1 as if nothing overlapped.
  overlap,
};
inline constexpr std::size_t quantities = 6;

constexpr auto words_of(Unknown) {
  return words_up_to<Unknown::overlap>("the speed of one GPU", "the overhead between GPUs",
                                       "links in a node", "the network", "the host",
                                       "how much communication overlaps with compute");
}

// Classes of links. What is known of one is how far machines of it lie apart.
enum class LinkClass : std::uint8_t {
  nvlink,       // also NVSwitch
  pcie_peers,   // PCIe with access to peers
  pcie_staged,  // through the host's memory
  rdma,         // also TCP that wires limit, and not hosts
  efa,
  tcp_own,      // hosts of one's own
  tcp_virtual,  // virtual machines
  tcp_unknown,  // not said which
  host_sums,    // summed in the hosts' memory, in a node and between
  measured,     // calibrated, or said to be measured
};
inline constexpr std::size_t link_classes = 10;

constexpr auto words_of(LinkClass) {
  return words_up_to<LinkClass::measured>(
      "NVLink", "PCIe with peers", "PCIe through the host", "RDMA", "EFA", "TCP of own hosts",
      "TCP of virtual machines", "TCP of unknown hosts", "sums in host memory", "measured");
}

// Where machines and workloads lie in the quantities, and how far apart, before anything of one is
// measured: scales of Student's distribution with `freedom` degrees, around descriptions but for
// the centres.
struct Priors {
  std::array<double, link_classes> links{};  // of calls' times, by class
  // Of boxes of which a preset says how they spread (IntraNode::box_spread): of that spread.
  double boxes = 0;
  double wrapper = 0, wrapper_by_doubling = 0;  // and more for each doubling of ranks
  // Of what its class has: more for each doubling of GPUs beyond two, or of nodes; and of each row
  // by itself, on a network of virtual machines and elsewhere.
  double links_by_doubling = 0, links_of_row = 0, cloud_of_row = 0;
  double overlap_fast = 0, overlap_slow = 0;  // over NVLink and RDMA, over PCIe and TCP
  double host = 0;                            // of what the quantity is in
  // Of strategies that no measured step was at hand of, in place of `wrapper`.
  double unmeasured_wrapper = 0;
  double row = 0;  // of a row's step by itself: what no quantity has
  // Centres of node_links and of overlap where calls are staged in the host's memory.
  double staged_links = 0, staged_overlap = 0;
};

// Of rows of a machine and workload together: judged, as sources are too few to tell 3 from 6.
inline constexpr double freedom = 4;
// Most machines lose a few per cent to what GPUs of a node share, some a third: overheads of
// several scales are longer by `rare_overhead`, half of it from `rare_from` on. Of eight pairs, the
// one with the best interval score, of one known row and of two, by all sources but one, for 38 of
// 41 of these.
inline constexpr double rare_overhead = 0.3, rare_from = 0.08;

// From the centre of Student's distribution to an end of its 90 % interval.
[[nodiscard]] double student_90(double degrees);

// Of Student's distribution with `freedom` degrees: how many scales from its centre, on either
// side, so much of it begins to lie outside; above 0, below 1.
[[nodiscard]] double student_end(double outside);

// What no quantity within so much of its prior reaches contradicts a description.
inline constexpr double outside_of_priors = 0.01;

// A number of Priors, and what is known of it.
struct KnownPrior {
  std::string_view name;
  bool is_centre;  // else a scale, above 0
  double before;   // expected before any row was seen
  double value;    // what the sources at hand say (learn.h)
  bool is_learnt;  // some source has rows of it
  double& (*at)(Priors& priors);
};

[[nodiscard]] std::span<const KnownPrior> known_priors_table();
[[nodiscard]] const Priors& known_priors();
[[nodiscard]] const Priors& priors_before();

}  // namespace paceline::uncertain
