#include "sim/folded/symmetry.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <limits>
#include <numeric>
#include <utility>

#include "models/contract.h"
#include "models/stats/mixed.h"

namespace paceline::sim {
namespace {

using stats::mixed;

// Numbers for colours, as they come: a hash table of open addressing, for 1e5 of them a pass.
class ColourNumbers {
 public:
  explicit ColourNumbers(std::size_t colours_max)
      : slots_(std::bit_ceil(2 * colours_max + 2)), mask_(slots_.size() - 1) {}

  std::uint32_t number_of(std::uint64_t colour) {
    std::size_t slot = colour & mask_;
    while (slots_[slot].number != none && slots_[slot].colour != colour) slot = (slot + 1) & mask_;
    if (slots_[slot].number == none) slots_[slot] = {colour, count_++};
    return slots_[slot].number;
  }
  [[nodiscard]] std::uint32_t count() const { return count_; }

 private:
  static constexpr std::uint32_t none = 0xffffffff;
  struct Slot {
    std::uint64_t colour = 0;
    std::uint32_t number = none;
  };
  std::vector<Slot> slots_;
  std::size_t mask_;
  std::uint32_t count_ = 0;
};

std::uint32_t distinct(const std::vector<std::uint64_t>& colours) {
  ColourNumbers numbers(colours.size());
  for (const std::uint64_t colour : colours) (void)numbers.number_of(colour);
  return numbers.count();
}

}  // namespace

class Refinement {
 public:
  Refinement(const topology::Fabric& fabric, std::span<const std::uint64_t> colours,
             std::span<const std::uint64_t> channel_colours, std::vector<SendRow> sends)
      : fabric_(fabric),
        endpoints_(colours.begin(), colours.end()),
        channels_(channel_colours.begin(), channel_colours.end()),
        sends_(std::move(sends)) {
    number_parts();
    part_colours_ = hops_behind_network();
    // Links are kept apart by their places in ports, so that no path crosses two that are alike.
    for (const topology::Link& link : fabric.links()) {
      links_.push_back(std::bit_cast<std::uint64_t>(link.bandwidth.value()));
    }
    std::vector<std::uint64_t> places(links_.size());
    static_assert(topology::port_links_max <= 32);
    add_places(fabric.out_ports(), 0, places);
    add_places(fabric.in_ports(), 32, places);
    for (std::size_t link = 0; link < links_.size(); ++link) {
      links_[link] = mixed(links_[link] + mixed(places[link]));
    }
    if (std::ranges::any_of(sends_, [&](const SendRow& send) {
          return leads_over_a_neighbour(fabric.out_ports()[send.out]);
        })) {
      keep_lanes_apart();
    }
  }

  void run() {
    std::uint32_t before = 0, after = classes();
    while (after != before) {
      before = after;
      pass();
      after = classes();
    }
  }

  [[nodiscard]] Symmetry symmetry() const {
    Symmetry result;
    ColourNumbers endpoint_numbers(endpoints_.size());
    for (const std::uint64_t colour : endpoints_) {
      result.endpoint_class.push_back(endpoint_numbers.number_of(colour));
    }
    ColourNumbers link_numbers(links_.size());
    for (std::size_t link = 0; link < links_.size(); ++link) {
      const std::uint32_t number = link_numbers.number_of(links_[link]);
      if (number == result.links.size()) {
        result.links.push_back({fabric_.links()[link].bandwidth, 0});
      }
      result.link_class.push_back(number);
      ++result.links[number].links;
    }
    ColourNumbers channel_numbers(channels_.size());
    for (const std::uint64_t colour : channels_) {
      result.channel_class.push_back(channel_numbers.number_of(colour));
    }
    ColourNumbers part_classes(parts_.size());
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      const std::uint32_t number = part_classes.number_of(part_colours_[p]);
      result.part_endpoints_.push_back(parts_[p].endpoint);
      result.part_classes_.push_back(number);
      result.parts.resize(part_classes.count());
      ++result.parts[number];
    }
    result.first_parts_ = first_parts_;
    return result;
  }

 private:
  using Colours = std::vector<std::uint64_t>;

  struct Part {
    std::uint32_t channel, endpoint;
  };

  // The endpoints of each channel are its parts, ascending.
  void number_parts() {
    constexpr auto none = std::numeric_limits<std::uint32_t>::max();
    std::vector<std::uint32_t> numbers(endpoints_.size(), none);  // in the channel at hand
    std::vector<std::uint32_t> taking_part;
    auto end = sends_.begin();
    for (std::uint32_t channel = 0; channel < channels_.size(); ++channel) {
      first_parts_.push_back(static_cast<std::uint32_t>(parts_.size()));
      const auto begin = end;
      for (; end != sends_.end() && end->channel == channel; ++end) {
        for (const std::uint32_t endpoint : {end->from, end->to}) {
          if (numbers[endpoint] != none) continue;
          numbers[endpoint] = 0;
          taking_part.push_back(endpoint);
        }
      }
      std::ranges::sort(taking_part);
      for (const std::uint32_t endpoint : taking_part) {
        numbers[endpoint] = static_cast<std::uint32_t>(parts_.size());
        parts_.push_back({channel, endpoint});
      }
      for (auto send = begin; send != end; ++send) {
        send->from = numbers[send->from];
        send->to = numbers[send->to];
      }
      for (const std::uint32_t endpoint : taking_part) numbers[endpoint] = none;
      taking_part.clear();
    }
    first_parts_.push_back(static_cast<std::uint32_t>(parts_.size()));
    PACELINE_EXPECTS(end == sends_.end());
  }

  // How many hops within its node each part is behind one that receives from the network: rings
  // through nodes of 72 GPUs would take as many passes to find that out.
  [[nodiscard]] Colours hops_behind_network() const {
    std::vector<std::uint32_t> begin(parts_.size() + 1), inside(sends_.size());
    const auto crosses_network = [&](const SendRow& send) {
      return std::ranges::any_of(fabric_.links_of(fabric_.out_ports()[send.out]),
                                 [&](topology::LinkId link) {
                                   return fabric_.links()[link].kind == topology::LinkKind::nic;
                                 });
    };
    Colours hops(parts_.size());
    std::vector<std::uint32_t> reached;
    for (const SendRow& send : sends_) {
      if (!crosses_network(send)) {
        ++begin[send.from + 1];
      } else if (hops[send.to] == 0) {
        hops[send.to] = 1;
        reached.push_back(send.to);
      }
    }
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    std::vector<std::uint32_t> next(begin.begin(), begin.end() - 1);
    for (const SendRow& send : sends_) {
      if (!crosses_network(send)) inside[next[send.from]++] = send.to;
    }
    for (std::size_t i = 0; i < reached.size(); ++i) {
      const std::uint32_t part = reached[i];
      for (std::uint32_t hop = begin[part]; hop < begin[part + 1]; ++hop) {
        if (hops[inside[hop]] != 0) continue;
        hops[inside[hop]] = hops[part] + 1;
        reached.push_back(inside[hop]);
      }
    }
    return hops;
  }

  // Along the lanes of two pairs of GPUs, each the first of some way and the second of another.
  [[nodiscard]] bool leads_over_a_neighbour(const topology::Port& port) const {
    return port.link_count == 2 &&
           std::ranges::all_of(fabric_.links_of(port), [&](topology::LinkId link) {
             return fabric_.links()[link].kind == topology::LinkKind::lane;
           });
  }

  // Alike are only lanes of the same pair of different nodes, which a fabric has in one order.
  void keep_lanes_apart() {
    std::vector<std::size_t> lanes;
    for (std::size_t link = 0; link < links_.size(); ++link) {
      if (fabric_.links()[link].kind == topology::LinkKind::lane) lanes.push_back(link);
    }
    const std::size_t of_node = lanes.size() / fabric_.cluster().nodes;
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      links_[lanes[i]] = mixed(links_[lanes[i]] + mixed(i % of_node));
    }
  }

  void add_places(const std::vector<topology::Port>& ports, std::uint32_t first_bit,
                  std::vector<std::uint64_t>& places) const {
    for (const topology::Port& port : ports) {
      if (leads_over_a_neighbour(port)) continue;
      std::uint32_t bit = first_bit;
      for (const topology::LinkId link : fabric_.links_of(port)) {
        places[link] |= std::uint64_t{1} << bit++;
      }
    }
  }

  [[nodiscard]] std::uint32_t classes() const {
    return distinct(endpoints_) + distinct(channels_) + distinct(part_colours_) + distinct(links_);
  }

  [[nodiscard]] Colours port_colours(const std::vector<topology::Port>& ports) const {
    Colours colours;
    colours.reserve(ports.size());
    for (const topology::Port& port : ports) {
      std::uint64_t colour = 0;
      for (const topology::LinkId link : fabric_.links_of(port)) {
        colour = mixed(colour + links_[link]);
      }
      colours.push_back(colour);
    }
    return colours;
  }

  // Sums are used because they do not depend on the order of sends.
  void pass() {
    const Colours out = port_colours(fabric_.out_ports()), in = port_colours(fabric_.in_ports());
    Colours sent(parts_.size()), received(parts_.size());
    Colours left_by(out.size()), entered_by(in.size());
    for (const SendRow& send : sends_) {
      const std::uint64_t ends = mixed(part_colours_[send.from] + stats::golden_step) +
                                 3 * part_colours_[send.to] + 5 * out[send.out] + 7 * in[send.in];
      const std::uint64_t colour = mixed(mixed(ends) + send.kind);
      sent[send.from] += colour;
      received[send.to] += colour;
      left_by[send.out] += colour;
      entered_by[send.in] += colour;
    }
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      const std::uint64_t of_both =
          endpoints_[parts_[p].endpoint] + 3 * channels_[parts_[p].channel];
      part_colours_[p] = mixed(mixed(mixed(part_colours_[p] + of_both) + sent[p]) + received[p]);
    }
    Colours of_endpoint(endpoints_.size()), of_channel(channels_.size());
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      const std::uint64_t colour = mixed(part_colours_[p]);
      of_endpoint[parts_[p].endpoint] += colour;
      of_channel[parts_[p].channel] += colour;
    }
    mix_in(of_endpoint, endpoints_);
    mix_in(of_channel, channels_);
    Colours crossed(links_.size());
    const auto add = [&](const std::vector<topology::Port>& ports, const Colours& by_port) {
      for (std::size_t p = 0; p < ports.size(); ++p) {
        for (const topology::LinkId link : fabric_.links_of(ports[p])) crossed[link] += by_port[p];
      }
    };
    add(fabric_.out_ports(), left_by);
    add(fabric_.in_ports(), entered_by);
    mix_in(crossed, links_);
  }

  static void mix_in(const Colours& added, Colours& colours) {
    for (std::size_t i = 0; i < colours.size(); ++i) colours[i] = mixed(colours[i] + added[i]);
  }

  const topology::Fabric& fabric_;
  Colours endpoints_, channels_, links_;
  std::vector<Part> parts_;
  std::vector<std::uint32_t> first_parts_;  // by channel, and the end
  Colours part_colours_;
  std::vector<SendRow> sends_;  // from parts to parts
};

std::optional<std::uint32_t> Symmetry::part_class(std::uint32_t channel,
                                                  std::uint32_t endpoint) const {
  const auto begin = part_endpoints_.begin() + first_parts_[channel];
  const auto end = part_endpoints_.begin() + first_parts_[channel + 1];
  const auto found = std::lower_bound(begin, end, endpoint);
  if (found == end || *found != endpoint) return std::nullopt;
  return part_classes_[static_cast<std::size_t>(found - part_endpoints_.begin())];
}

Symmetry find_symmetry(const topology::Fabric& fabric, std::span<const std::uint64_t> colours,
                       std::span<const std::uint64_t> channel_colours, std::vector<SendRow> sends) {
  Refinement refinement(fabric, colours, channel_colours, std::move(sends));
  refinement.run();
  return refinement.symmetry();
}

}  // namespace paceline::sim
