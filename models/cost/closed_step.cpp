#include "models/cost/closed_step.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "models/collectives/registry.h"
#include "models/contract.h"
#include "models/cost/auto_choice.h"
#include "models/cost/effort.h"
#include "models/cost/plan_cost.h"
#include "models/training/call_plan.h"
#include "models/training/scheduler.h"

namespace paceline::cost {
namespace {

using training::CollectiveCall;
using training::Operation;
using training::OperationId;

bool has_several_lanes(const training::StepProgram& program) {
  std::set<training::LaneId> lanes;
  for (const Operation& operation : program.operations) {
    if (call_of(operation) != nullptr) lanes.insert(operation.lane);
  }
  return lanes.size() > 1;
}

// A link while it always carries something.
struct BusyLink {
  Seconds begin, work;

  [[nodiscard]] Seconds end() const { return begin + work; }
  void carry(Seconds start, Seconds time) {
    if (start >= end()) {
      *this = {start, time};
    } else {
      begin = std::min(begin, start);
      work += time;
    }
  }
};

class ClosedStep {
 public:
  explicit ClosedStep(const ResolvedPoint& point)
      : point_(point),
        ranks_(point.cluster.ranks().value()),
        endpoints_(ranks_ + point.cluster.servers + switches_of_job(point)),
        planner_(point.cluster),
        fabric_(point.cluster),
        queues_(point.program),
        schedulers_(endpoints_, training::Scheduler(queues_)),
        pipes_free_(point.program.lanes.size()),
        shares_links_(has_several_lanes(point.program)),
        links_(fabric_.links().size()) {}

  Result run() {
    for (OperationId id = 0; id < point_.program.operations.size(); ++id) run_operation(id);
    return result();
  }

 private:
  struct CallCost {
    std::vector<Seconds> finish;  // by endpoint, from a common start at 0
    Seconds bandwidth_time;       // the same without latencies
    std::vector<Seconds> links;   // how long it keeps each; empty where lanes share none
    std::uint64_t transfers = 0;
  };

  // In the program's order, all ranks side by side, and servers and switches, which compute
  // nothing.
  void run_operation(OperationId id) {
    const Operation& operation = point_.program.operations[id];
    std::vector<Seconds> starts;
    starts.reserve(endpoints_);
    for (training::Scheduler& one : schedulers_) starts.push_back(one.next(operation.lane)->at);
    if (const auto* time = std::get_if<Seconds>(&operation.work)) {
      for (std::uint32_t r = 0; r < endpoints_; ++r) {
        const double part = r < ranks_ ? slowdown_of(point_, operation, Rank(r)) : 0.0;
        schedulers_[r].finish(id, starts[r] + *time * part);
      }
    } else {
      const CollectiveCall& call = *call_of(operation);
      for (Seconds& start : starts) start += call.held;
      const auto ends = ends_of(operation, call, starts);
      for (std::uint32_t r = 0; r < endpoints_; ++r) schedulers_[r].finish(id, ends[r]);
    }
  }

  // When endpoints start together for all that matters: servers that are there before the ranks
  // gain nothing by it, where nobody waits for their ready notifications. Nobody waits for those of
  // switches.
  [[nodiscard]] std::optional<Seconds> common_start(const std::vector<Seconds>& starts) const {
    const bool is_ready = point_.cluster.network.receives == topology::Receives::ready;
    const std::uint32_t first_idle = is_ready ? ranks_ : ranks_ + point_.cluster.servers;
    for (std::uint32_t r = 1; r < endpoints_; ++r) {
      const bool is_early = r >= first_idle && starts[r] < starts.front();
      if (starts[r] != starts.front() && !is_early) return std::nullopt;
    }
    return starts.front();
  }

  std::vector<Seconds> ends_of(const Operation& operation, const CollectiveCall& call,
                               const std::vector<Seconds>& starts) {
    const Seconds last = *std::max_element(starts.begin(), starts.end());
    if (const auto* known = call.known()) return std::vector(endpoints_, last + known->time);
    const topology::Wire& wire = call.simulated()->wire;
    const CallCost& cost = cost_of(call);
    transfers_ += cost.transfers;
    std::vector<Seconds> ends;
    if (const auto together = common_start(starts)) {
      for (const Seconds& finish : cost.finish) ends.push_back(*together + finish);
    } else {
      ends = finish_times(planner_.plan_of(call), fabric_, call.element_size, starts,
                          Latency::counted, wire);
    }
    if (point_.program.lanes[operation.lane].in_flight > 1) {
      Seconds& free = pipes_free_[operation.lane];
      free = std::max(free, last) + cost.bandwidth_time;
      for (Seconds& end : ends) end = std::max(end, free);
    }
    // A root that serves is there early, or is the last to be.
    const Seconds carried = carry(cost, *std::ranges::min_element(std::span(starts).first(ranks_)));
    for (Seconds& end : ends) end = std::max(end, carried);
    return ends;
  }

  // When the links of a call have carried all that they have so far.
  Seconds carry(const CallCost& cost, Seconds start) {
    Seconds last;
    for (std::size_t link = 0; link < cost.links.size(); ++link) {
      if (cost.links[link] == Seconds(0)) continue;
      links_[link].carry(start, cost.links[link]);
      last = std::max(last, links_[link].end());
    }
    return last;
  }

  const CallCost& cost_of(const CollectiveCall& call) {
    const auto [entry, is_new] = costs_.try_emplace(call);
    CallCost& cost = entry->second;
    if (!is_new) return cost;
    const auto plan = planner_.plan_of(call);
    const training::SimulatedCall& simulated = *call.simulated();
    const std::vector<Seconds> together(endpoints_);
    cost.finish =
        finish_times(plan, fabric_, call.element_size, together, Latency::counted, simulated.wire);
    cost.transfers = transfer_count(plan);
    if (shares_links_) cost.links = link_times(plan, fabric_, call.element_size, simulated.wire);
    const auto* row = collectives::find_algorithm(call.collective, simulated.algorithm);
    has_pipelines_ = has_pipelines_ || row->traits.chunk_size;
    has_drifting_rings_ =
        has_drifting_rings_ || (simulated.wire.leaves_first && point_.cluster.nodes > 1 &&
                                point_.cluster.gpus_per_node > 1);
    const auto without_latency =
        finish_times(plan, fabric_, call.element_size, together, Latency::none, simulated.wire);
    cost.bandwidth_time = *std::max_element(without_latency.begin(), without_latency.end());
    return cost;
  }

  Result result() {
    std::vector<std::vector<training::Interval>> intervals;
    for (std::uint32_t r = 0; r < ranks_; ++r) intervals.push_back(schedulers_[r].intervals());
    Result result;
    result.id = point_.id;
    result.fidelity = Fidelity::closed;
    result.trace = {point_.program, classes_of(std::move(intervals))};
    result.totals = totals_of(result.trace);
    result.transfers = transfers_;
    if (has_pipelines_) {
      result.notes.emplace_back(
          "closed: trees, chains, NVLS and CollNet are estimates, off by -15 to +50 % in the cases "
          "seen");
    }
    if (has_drifting_rings_) {
      result.notes.emplace_back(
          "closed: rings over nodes are estimates, up to 20 % too long in the cases seen");
    }
    return result;
  }

  const ResolvedPoint& point_;
  std::uint32_t ranks_, endpoints_;
  training::Planner planner_;
  topology::Fabric fabric_;
  training::LaneQueues queues_;
  std::vector<training::Scheduler> schedulers_;  // by endpoint
  std::vector<Seconds> pipes_free_;  // by lane: when the bandwidth of its calls so far is used up
  bool shares_links_;                // among lanes
  std::vector<BusyLink> links_;
  std::map<CollectiveCall, CallCost> costs_;
  std::uint64_t transfers_ = 0;
  bool has_pipelines_ = false;  // plans in whose rounds not every rank sends
  // Whose ranks have fast and slow hops and do not wait for receivers.
  bool has_drifting_rings_ = false;
};

}  // namespace

Result predict_closed(ResolvedPoint point) {
  const auto predict = [](const ResolvedPoint& one) -> PredictedStep {
    constexpr double transfers_max = 2e8;  // some ten seconds
    if (transfers_about(one) > transfers_max) {
      return NotPredicted{"it takes more than 2e+08 transfers"};
    }
    return ClosedStep(one).run().totals.step;
  };
  const AutomaticChoice choice = choose_automatically(point, predict);
  PACELINE_EXPECTS(!find_fault(point.program));
  Result result = ClosedStep(point).run();
  choice.add_to(result);
  return result;
}

}  // namespace paceline::cost
