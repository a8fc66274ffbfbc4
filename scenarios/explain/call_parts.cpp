#include <algorithm>
#include <utility>
#include <vector>

#include "models/cost/auto_choice.h"
#include "models/topology/fabric.h"
#include "models/training/call_plan.h"
#include "scenarios/explain/calls.h"
#include "scenarios/predict/simulate.h"
#include "scenarios/report/explain_cluster.h"

namespace paceline::explain {
namespace {

using training::CollectiveCall;

// nullopt: it is not predicted.
std::optional<Seconds> time_of(const ResolvedPoint& one) {
  const traces::Reply reply = simulate(one);
  const auto* result = std::get_if<Result>(&reply);
  if (result == nullptr) return std::nullopt;
  return result->totals.step;
}

// Of one call by itself. What its library takes before the first message, whatever the links, is
// none here, as it is apart.
ResolvedPoint without_latency(ResolvedPoint one) {
  one.cluster.intra_node.latency = one.cluster.network.latency = Seconds(0);
  if (one.cluster.network.fat_tree) one.cluster.network.fat_tree->core_latency = Seconds(0);
  auto& how = call_of(one.program.operations.front())->how;
  topology::Wire& wire = std::get<training::SimulatedCall>(how).wire;
  wire.start = wire.local_hop = wire.remote_hop = Seconds(0);
  return one;
}

// More transfers are not added up one by one: then those of the first node's GPUs stand for all.
constexpr double transfers_most = 4e6;

// What the plan of a point's one call has cross each link, as far as its bytes go.
class LinkLoads {
 public:
  LinkLoads(const ResolvedPoint& one, const CollectiveCall& call)
      : one_(one),
        job_(jobs_of(one).front()),
        call_(call),
        plan_(training::Planner(one.cluster).plan_of(call)),
        fabric_(one.cluster),
        bytes_(fabric_.links().size()) {
    const std::uint32_t endpoints = plan_.endpoints().value();
    are_all_ = static_cast<double>(round_count(plan_)) *
                   static_cast<double>(plan_.channels.size()) * endpoints <=
               transfers_most;
    const std::uint32_t senders = are_all_ ? endpoints : one.cluster.gpus_per_node;
    for (const collectives::Channel& channel : plan_.channels) {
      for (const collectives::Round& round : channel.rounds) {
        for (std::uint32_t from = 0; from < senders; ++from) {
          for (const collectives::Send& send : round.sends(Rank(from))) {
            add(Rank(from), send, round.repeats);
          }
        }
      }
    }
  }

  [[nodiscard]] const collectives::Plan& plan() const { return plan_; }

  [[nodiscard]] std::optional<BusiestLink> busiest() const {
    std::optional<std::size_t> most;
    for (std::size_t link = 0; link < bytes_.size(); ++link) {
      if (bytes_[link] > 0 && (!most || busy(link) > busy(*most))) most = link;
    }
    if (!most) return std::nullopt;
    const topology::Link& link = fabric_.links()[*most];
    return BusiestLink{std::string(link_name(link.kind)), link_sharers(link, one_.cluster),
                       link.bandwidth, busy(*most)};
  }

 private:
  [[nodiscard]] Seconds busy(std::size_t link) const {
    return Seconds(bytes_[link] / fabric_.links()[link].bandwidth.value());
  }

  void add(Rank from, const collectives::Send& send, std::uint64_t repeats) {
    double bytes = 0;
    for (std::uint64_t i = 0; i < repeats; ++i) {
      const Bytes size = send.chunk.at(i).count * call_.element_size;
      bytes += call_.simulated()->wire.carried(static_cast<double>(size.value()));
    }
    const topology::Path path =
        fabric_.path(place_of(one_, job_, from), place_of(one_, job_, send.to));
    const auto load = [&](const topology::Port& port) {
      for (const topology::LinkId link : fabric_.links_of(port)) bytes_[link] += bytes;
    };
    load(fabric_.out_ports()[path.out]);
    if (are_all_) load(fabric_.in_ports()[path.in]);
  }

  const ResolvedPoint& one_;
  Job job_;
  const CollectiveCall& call_;
  collectives::Plan plan_;
  topology::Fabric fabric_;
  std::vector<double> bytes_;  // by link
  bool are_all_ = true;
};

}  // namespace

std::optional<CallParts> parts_of(const ResolvedPoint& point, const CollectiveCall& call) {
  if (call.simulated() == nullptr) return std::nullopt;
  const ResolvedPoint one = cost::alone(point, call);
  const auto time = time_of(one);
  const auto of_bytes = time_of(without_latency(one));
  if (!time || !of_bytes) return std::nullopt;
  CallParts parts;
  parts.time = *time;
  parts.start = call.simulated()->wire.start;
  parts.bandwidth = std::min(*of_bytes, parts.time - parts.start);
  parts.latency = parts.time - parts.start - parts.bandwidth;
  const LinkLoads loads(one, call);
  parts.rounds = round_count(loads.plan());
  parts.link = loads.busiest();
  return parts;
}

}  // namespace paceline::explain
