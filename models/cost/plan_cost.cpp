#include "models/cost/plan_cost.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "models/collectives/round_table.h"
#include "models/contract.h"

namespace paceline::cost {
namespace {

using collectives::Channel;
using collectives::Plan;
using collectives::RoundTable;
using topology::Fabric;

using LinkLoads = std::vector<std::uint32_t>;  // flows, by link

template <class Visit>
void for_each_link(const Fabric& fabric, const topology::Path& path, Visit visit) {
  const auto visit_port = [&](const topology::Port& port) {
    for (std::uint32_t i = 0; i < port.link_count; ++i) visit(port.links[i]);
  };
  visit_port(fabric.out_ports()[path.out]);
  visit_port(fabric.in_ports()[path.in]);
}

void add_load(const RoundTable& shape, const Fabric& fabric, LinkLoads& loads) {
  for (const auto& transfer : shape.transfers()) {
    if (transfer.chunk.at(0).count == ElementCount(0)) continue;
    for_each_link(fabric, fabric.path(transfer.from, transfer.to),
                  [&](topology::LinkId link) { ++loads[link]; });
  }
}

class ChannelCost {
 public:
  ChannelCost(const std::vector<RoundTable>& shapes, const std::vector<LinkLoads>& loads,
              std::uint32_t window, const Fabric& fabric, ElementSize element_size, Latency latency)
      : shapes_(shapes),
        loads_(loads),
        window_(window),
        fabric_(fabric),
        element_size_(element_size),
        latency_(latency) {}

  std::vector<Seconds> run(std::span<const Seconds> starts) {
    // done_[i % window][r]: when rank r is done with all rounds up to i.
    done_.assign(window_, {starts.begin(), starts.end()});
    std::uint64_t round = 0;
    for (std::size_t s = 0; s < shapes_.size(); ++s) run_shape(s, round);
    return done_[(round + window_ - 1) % window_];
  }

 private:
  struct Timed {
    const RoundTable::Transfer* transfer;
    Seconds latency;
    double seconds_per_element;
    // When the transfer before it between the same two ranks ended: they go in order, one at a
    // time. (With a window of 1 that is so anyway.)
    Seconds* last_end;
  };

  Timed timed(const RoundTable::Transfer& transfer, const LinkLoads& loads) {
    const auto path = fabric_.path(transfer.from, transfer.to);
    double rate = std::numeric_limits<double>::infinity();
    for_each_link(fabric_, path, [&](topology::LinkId link) {
      rate = std::min(rate, fabric_.links()[link].bandwidth.value() / std::max(1U, loads[link]));
    });
    const Seconds latency = latency_ == Latency::counted ? path.latency : Seconds(0);
    return {&transfer, latency, static_cast<double>(element_size_.value()) / rate,
            &last_ends_[{transfer.from, transfer.to}]};
  }

  void run_shape(std::size_t shape, std::uint64_t& round) {
    std::vector<Timed> transfers;
    for (const auto& transfer : shapes_[shape].transfers()) {
      transfers.push_back(timed(transfer, loads_[shape]));
    }
    std::vector<Seconds> ends;
    for (std::uint64_t repeat = 0; repeat < shapes_[shape].repeats(); ++repeat, ++round) {
      const std::vector<Seconds>& posted = done_[round % window_];  // round - window is done
      ends = done_[(round + window_ - 1) % window_];                // at least round - 1's
      for (Timed& t : transfers) {
        const ElementCount count = t.transfer->chunk.at(repeat).count;
        if (count == ElementCount(0)) continue;
        const std::uint32_t from = index(t.transfer->from), to = index(t.transfer->to);
        const Seconds ready = std::max(posted[from], posted[to]) + t.latency;
        *t.last_end = std::max(ready, *t.last_end) +
                      Seconds(static_cast<double>(count.value()) * t.seconds_per_element);
        ends[from] = std::max(ends[from], *t.last_end);
        ends[to] = std::max(ends[to], *t.last_end);
      }
      done_[round % window_] = ends;
    }
  }

  const std::vector<RoundTable>& shapes_;
  const std::vector<LinkLoads>& loads_;  // by shape
  std::uint32_t window_;
  const Fabric& fabric_;
  ElementSize element_size_;
  Latency latency_;
  std::vector<std::vector<Seconds>> done_;
  std::map<std::pair<Rank, Rank>, Seconds> last_ends_;
};

}  // namespace

std::vector<Seconds> finish_times(const Plan& plan, const Fabric& fabric, ElementSize element_size,
                                  std::span<const Seconds> starts, Latency latency) {
  PACELINE_EXPECTS(starts.size() == plan.ranks.value());
  std::vector<std::vector<RoundTable>> shapes(plan.channels.size());
  std::size_t shapes_max = 0;
  for (std::size_t c = 0; c < plan.channels.size(); ++c) {
    for (const auto& round : plan.channels[c].rounds) {
      if (round.repeats > 0) shapes[c].emplace_back(round, plan.ranks);
    }
    shapes_max = std::max(shapes_max, shapes[c].size());
  }
  std::vector<LinkLoads> loads(shapes_max, LinkLoads(fabric.links().size()));
  for (const auto& of_channel : shapes) {
    for (std::size_t s = 0; s < of_channel.size(); ++s) add_load(of_channel[s], fabric, loads[s]);
  }
  std::vector<Seconds> finish(starts.begin(), starts.end());
  for (std::size_t c = 0; c < plan.channels.size(); ++c) {
    ChannelCost cost(shapes[c], loads, plan.channels[c].window, fabric, element_size, latency);
    const auto of_channel = cost.run(starts);
    for (std::size_t r = 0; r < finish.size(); ++r) finish[r] = std::max(finish[r], of_channel[r]);
  }
  return finish;
}

}  // namespace paceline::cost
