#include "sim/flow/flow_step.h"

#include <map>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "models/contract.h"
#include "models/training/call_plan.h"
#include "sim/flow/flow_network.h"
#include "sim/folded/collective_run.h"
#include "sim/folded/folded_step.h"
#include "sim/folded/step_run.h"

namespace paceline::sim {

namespace {

using training::CollectiveCall;

// Every endpoint of the plan an actor, and those of other calls' plans.
CallTable unfolded(const ResolvedPoint& point, const Job& job, const CollectiveCall& call,
                   const collectives::Plan& plan, Actor actors, FlowNetwork& network) {
  CallTable table;
  table.actors = actors;
  if (const auto* known = call.known()) {
    table.together = known->time;
    return table;
  }
  const topology::Wire& wire = call.simulated()->wire;
  table.start = wire.start;
  std::vector<Actor> everyone(table.actors);
  std::iota(everyone.begin(), everyone.end(), 0U);
  for (const collectives::Channel& channel : plan.channels) {
    std::vector<RoundShape> shapes;
    collectives::for_each_round(channel, [&](const auto& round, const auto* before) {
      std::vector<PlannedTransfer> transfers;
      collectives::for_each_send(round, plan.endpoints(), [&](Rank from, const auto& send) {
        const Rank receiver = place_of(point, job, send.to);
        const PathId path = network.path(place_of(point, job, from), receiver, wire);
        transfers.push_back({index(from), index(send.to), path, 1,
                             TransferSize::exact(send.chunk, call.element_size, wire),
                             reduction_of(send.arrival, receiver, network.fabric(), wire),
                             collectives::were_peers(before, from, send.to)});
      });
      shapes.emplace_back(round.repeats, table.actors, std::move(transfers));
    });
    table.add_channel(everyone, std::move(shapes), channel.window);
  }
  return table;
}

// Gloo writes a message whole. Where several are in flight both ways, their order decides when
// ranks get what they send on; rings that all go the same way stay in step, and it makes no
// difference. Messages of plans on Gloo are written in pieces that take turns.
Wires wires_of(const ResolvedPoint& point) {
  const bool are_whole = point.cluster.network.receives == topology::Receives::announced;
  return Wires(are_whole && notifications_queue(point) ? Wires::Messages::in_order
                                                       : Wires::Messages::share);
}

}  // namespace

Result simulate_flow(const ResolvedPoint& point) {
  PACELINE_EXPECTS(!find_fault(point.program));
  FlowNetwork network(point.cluster, CollectiveRun::arrived);
  const topology::Cluster job_nodes = job_cluster(point);
  const training::Planner planner(job_nodes);
  const std::vector<Job> jobs = jobs_of(point);
  const Actor beyond_ranks = point.cluster.servers + switches_of_job(point);
  std::map<std::pair<std::size_t, CollectiveCall>, CallTable> tables;
  std::vector<std::unique_ptr<StepRun>> steps;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const auto table_of = [&, j](training::OperationId id) -> const CallTable& {
      const CollectiveCall& call = *call_of(point.program.operations[id]);
      const auto known = tables.find({j, call});
      if (known != tables.end()) return known->second;
      return tables
          .emplace(std::pair(j, call), unfolded(point, jobs[j], call, planner.plan_of(call),
                                                job_nodes.ranks().value() + beyond_ranks, network))
          .first->second;
    };
    std::vector<StepActor> actors;
    for (std::uint32_t r = 0; r < job_nodes.ranks().value(); ++r) {
      actors.push_back({{Rank(r)}, j == 0 ? slowdown_of(point, Rank(r)) : 1.0});
    }
    actors.resize(actors.size() + beyond_ranks, {{}, 0});
    steps.push_back(std::make_unique<StepRun>(point.program, std::move(actors), network, table_of,
                                              wires_of(point)));
    network.at(jobs[j].start, [step = steps.back().get()] { step->start(); });
  }
  network.run();
  Result result;
  result.id = point.id;
  result.fidelity = Fidelity::flow;
  result.trace = steps.front()->trace();
  result.totals = totals_of(result.trace);
  result.transfers = network.flows_sent();
  return result;
}

}  // namespace paceline::sim
