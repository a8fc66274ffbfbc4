#include "models/cost/plan_cost.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <tuple>

#include "models/contract.h"

namespace paceline::cost {
namespace {

using collectives::Channel;
using collectives::Plan;
using collectives::Round;
using topology::Fabric;

// A round written out for all endpoints.
struct Shape {
  struct Transfer {
    Rank from;
    collectives::Send send;
  };
  const Round* round;
  std::vector<Transfer> transfers;
};

using LinkLoads = std::vector<std::uint32_t>;  // flows, by link

template <class Visit>
void for_each_link(const Fabric& fabric, const topology::Path& path, Visit visit) {
  const auto visit_port = [&](const topology::Port& port) {
    for (const topology::LinkId link : fabric.links_of(port)) visit(link);
  };
  visit_port(fabric.out_ports()[path.out]);
  visit_port(fabric.in_ports()[path.in]);
}

// What one rank sends another in several ranges, which stand together, goes in turn; not what is of
// several steps of a pipeline.
bool goes_in_turn(const Shape::Transfer& last, const Shape::Transfer& transfer) {
  return last.from == transfer.from && last.send.to == transfer.send.to &&
         transfer.send.chunk.cyclic;
}

void add_load(const Shape& shape, std::uint64_t repeat, const Fabric& fabric, LinkLoads& loads) {
  const Shape::Transfer* last = nullptr;
  for (const auto& transfer : shape.transfers) {
    if (transfer.send.chunk.at(repeat).count == ElementCount(0)) continue;
    const bool is_in_turn = last != nullptr && goes_in_turn(*last, transfer);
    last = &transfer;
    if (is_in_turn) continue;
    for_each_link(fabric, fabric.path(transfer.from, transfer.send.to),
                  [&](topology::LinkId link) { ++loads[link]; });
  }
}

// Whether who sends depends on the repeat: pipelines that fill and drain.
bool is_pipeline(const Shape& shape) {
  return std::ranges::any_of(shape.transfers,
                             [](const auto& transfer) { return !transfer.send.chunk.cyclic; });
}

// The most flows that each link has in any repeat; `shapes` run at the same time.
LinkLoads most_loads(const std::vector<const Shape*>& shapes, const Fabric& fabric) {
  std::uint64_t repeats = 1;  // the first stands for all, but in a pipeline
  for (const Shape* shape : shapes) {
    if (is_pipeline(*shape)) repeats = std::max(repeats, shape->round->repeats);
  }
  LinkLoads most(fabric.links().size());
  for (std::uint64_t repeat = 0; repeat < repeats; ++repeat) {
    LinkLoads loads(fabric.links().size());
    for (const Shape* shape : shapes) {
      if (repeat < shape->round->repeats) add_load(*shape, repeat, fabric, loads);
    }
    std::transform(loads.begin(), loads.end(), most.begin(), most.begin(),
                   [](std::uint32_t a, std::uint32_t b) { return std::max(a, b); });
  }
  return most;
}

class ChannelCost {
 public:
  ChannelCost(const std::vector<Shape>& shapes, const std::vector<LinkLoads>& loads,
              std::uint32_t window, const Fabric& fabric, double element_size,
              const topology::Wire& wire)
      : shapes_(shapes),
        loads_(loads),
        window_(window),
        fabric_(fabric),
        element_size_(element_size),
        wire_(wire) {}

  std::vector<Seconds> run(std::span<const Seconds> starts) {
    starts_.assign(starts.begin(), starts.end());
    done_.assign(window_, starts_);
    notified_ahead_.clear();
    std::uint64_t round = 0;
    for (std::size_t s = 0; s < shapes_.size(); ++s) run_shape(s, round);
    return done_before(round);
  }

 private:
  struct Timed {
    const Shape::Transfer* transfer;
    topology::Path path;
    double seconds_per_byte;    // that links carry
    double reduction_per_byte;  // s, of what is reduced
    bool were_peers;            // in the round before
    // When the transfer before it between the same two ranks ended: they go in order, one at a
    // time, but for the steps of a pipeline. (With a window of 1 that is so anyway.)
    Seconds* last_end;
  };

  Timed timed(std::size_t shape, const Shape::Transfer& transfer) {
    const auto path = fabric_.path(transfer.from, transfer.send.to, wire_);
    const LinkLoads& loads = loads_[shape];
    double rate = std::numeric_limits<double>::infinity();
    for_each_link(fabric_, path, [&](topology::LinkId link) {
      rate = std::min(rate, fabric_.links()[link].bandwidth.value() / std::max(1U, loads[link]));
    });
    const auto reduction = fabric_.reduction_at(transfer.send.to);
    const bool reduces = transfer.send.arrival == collectives::Arrival::reduce && reduction;
    return {&transfer,
            path,
            1 / rate,
            reduces ? 1 / reduction->value() : 0,
            collectives::were_peers(shape > 0 ? shapes_[shape - 1].round : nullptr, transfer.from,
                                    transfer.send.to),
            &last_ends_[{transfer.from, transfer.send.to,
                         transfer.send.chunk.cyclic ? 0 : transfer.send.chunk.first}]};
  }

  [[nodiscard]] Seconds latency_of(const Timed& transfer, double count) const {
    return transfer.path.timing.latency_of(wire_.carried(count * element_size_));
  }

  [[nodiscard]] const std::vector<Seconds>& done_before(std::uint64_t round) const {
    return done_[(round + window_ - 1) % window_];
  }

  // When the sender of a transfer and its receiver are done with it.
  struct Ends {
    Seconds sender, receiver;
  };
  // `were_peers` as MessageTiming has it.
  Ends ends_of(const Timed& t, double elements, const std::vector<Seconds>& posted,
               bool were_peers) const {
    const std::uint32_t from = index(t.transfer->from), to = index(t.transfer->send.to);
    const topology::MessageTiming& timing = t.path.timing;
    const Seconds after = timing.latency_after();
    Seconds ready = posted[from];
    const double message = elements * element_size_, carried = wire_.carried(message);
    if (!timing.starts_early(carried, were_peers)) {
      ready = std::max(ready, posted[to]);
    }
    if (timing.needs_notification(were_peers)) {
      const bool ahead = timing.is_notified_ahead(were_peers);
      const Seconds said = !ahead ? posted[to]
                           : notified_ahead_.size() < topology::rounds_announced_ahead
                               ? starts_[to]
                               : notified_ahead_.front()[to];
      ready = std::max(ready, said + timing.notification_latency());
    }
    const Seconds left = std::max(ready + latency_of(t, elements) - after, *t.last_end) +
                         Seconds(carried * t.seconds_per_byte);
    return {left, std::max(left + after, posted[to]) + Seconds(message * t.reduction_per_byte)};
  }

  void run_shape(std::size_t shape, std::uint64_t& round) {
    std::vector<Timed> transfers;
    for (const auto& transfer : shapes_[shape].transfers) {
      transfers.push_back(timed(shape, transfer));
    }
    std::vector<Seconds> done;
    for (std::uint64_t repeat = 0; repeat < shapes_[shape].round->repeats; ++repeat, ++round) {
      // Round - window is done, and all before the first of the shape.
      const std::uint64_t past = std::min<std::uint64_t>(window_, repeat + 1);
      const std::vector<Seconds>& posted = done_[(round + window_ - past) % window_];
      done = done_before(round);  // at least round - 1's
      for (Timed& t : transfers) {
        const ElementCount count = t.transfer->send.chunk.at(repeat).count;
        if (count == ElementCount(0)) continue;
        const Ends ends = ends_of(t, static_cast<double>(count.value()), posted,
                                  round == 0 || repeat > 0 || t.were_peers);
        *t.last_end = ends.sender;
        const std::uint32_t from = index(t.transfer->from), to = index(t.transfer->send.to);
        done[from] = std::max(done[from], ends.sender);
        done[to] = std::max(done[to], ends.receiver);
      }
      if (fabric_.cluster().network.receives == topology::Receives::announced_ahead) {
        notified_ahead_.push_back(posted);
        if (notified_ahead_.size() > topology::rounds_announced_ahead) notified_ahead_.pop_front();
      }
      done_[round % window_] = done;
    }
  }

  const std::vector<Shape>& shapes_;
  const std::vector<LinkLoads>& loads_;  // by shape
  std::uint32_t window_;
  const Fabric& fabric_;
  double element_size_;  // bytes
  const topology::Wire& wire_;
  std::vector<Seconds> starts_;
  std::deque<std::vector<Seconds>> notified_ahead_;  // when the last rounds before this were posted
  std::vector<std::vector<Seconds>> done_;           // [i % window][r]: rank r with rounds up to i
  // By sender, receiver and step of a pipeline.
  std::map<std::tuple<Rank, Rank, std::int64_t>, Seconds> last_ends_;
};

}  // namespace

std::vector<Seconds> finish_times(const Plan& plan, const Fabric& fabric, ElementSize element_size,
                                  std::span<const Seconds> starts, const topology::Wire& wire) {
  PACELINE_EXPECTS(starts.size() == plan.ranks.value() ||
                   starts.size() >= plan.endpoints().value());
  std::vector<std::vector<Shape>> shapes(plan.channels.size());
  std::vector<std::vector<const Shape*>> at_once;  // the channels' first shapes, second, ...
  for (std::size_t c = 0; c < plan.channels.size(); ++c) {
    collectives::for_each_round(plan.channels[c], [&](const Round& round, const Round*) {
      Shape& shape = shapes[c].emplace_back(Shape{&round, {}});
      collectives::for_each_send(round, plan.endpoints(), [&](Rank from, const auto& send) {
        shape.transfers.push_back({from, send});
      });
    });
    at_once.resize(std::max(at_once.size(), shapes[c].size()));
    for (std::size_t s = 0; s < shapes[c].size(); ++s) at_once[s].push_back(&shapes[c][s]);
  }
  std::vector<LinkLoads> loads;
  for (const auto& of_channels : at_once) loads.push_back(most_loads(of_channels, fabric));
  std::vector<Seconds> ready(starts.begin(), starts.end());
  for (Seconds& start : ready) start += wire.start;
  std::vector<Seconds> finish = ready;
  const auto element = static_cast<double>(element_size.value());
  ready.resize(std::max<std::size_t>(ready.size(), plan.endpoints().value()));
  for (std::size_t c = 0; c < plan.channels.size(); ++c) {
    ChannelCost cost(shapes[c], loads, plan.channels[c].window, fabric, element, wire);
    const auto of_channel = cost.run(ready);
    for (std::size_t r = 0; r < finish.size(); ++r) finish[r] = std::max(finish[r], of_channel[r]);
  }
  return finish;
}

}  // namespace paceline::cost
