#include "sim/folded_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "models/contract.h"
#include "models/units/parse.h"
#include "sim/collective_run.h"
#include "sim/folded_network.h"
#include "sim/regime.h"
#include "sim/step_run.h"

namespace paceline::sim {
namespace {

using training::CollectiveCall;

// Above this the flows share links in ever new ways and nothing repeats: a solve costs as much as
// some ten simulated transfers.
constexpr std::uint64_t solves_max = 1000;

// About five seconds.
constexpr double work_max = 1e7;

bool is_rooted(const CollectiveCall& call) {
  return call.collective == collectives::Collective::broadcast ||
         call.collective == collectives::Collective::reduce;
}

std::vector<StepActor> actors_of(const ResolvedPoint& point, const Symmetry& symmetry) {
  std::vector<StepActor> actors;
  for (const auto& members : symmetry.endpoints) {
    if (members.members.front() >= point.cluster.ranks().value()) continue;  // servers come last
    StepActor& actor = actors.emplace_back();
    for (const std::uint32_t member : members.members) actor.ranks.push_back(Rank(member));
    actor.slowdown = slowdown_of(point, actor.ranks.front());
  }
  return actors;
}

std::vector<Actor> servers_of(const ResolvedPoint& point, const Symmetry& symmetry) {
  std::vector<Actor> servers;
  for (Actor a = 0; a < symmetry.endpoints.size(); ++a) {
    const bool is_rank = symmetry.endpoints[a].members.front() < point.cluster.ranks().value();
    if (!is_rank) servers.push_back(a);
  }
  return servers;
}

// What following the classes through a call takes, in transfers: rounds that may be alike are leapt
// over after some, if they turn out to be.
double work_of(const CallTable& table) {
  constexpr std::uint64_t until_alike = 64;
  double work = 0;
  for (const ChannelTable& channel : table.channels) {
    for (const RoundShape& shape : channel.shapes) {
      const auto repeats =
          shape.may_leap() ? std::min(shape.repeats(), until_alike) : shape.repeats();
      work += static_cast<double>(shape.transfers().size()) * static_cast<double>(repeats);
    }
  }
  return work;
}

// A simulation of some of a point's operations, which shares its solver with others.
class FoldedSimulation {
 public:
  // Throws NotFolded.
  FoldedSimulation(const ResolvedPoint& point, Chunks chunks, RateSolver& solver,
                   const std::function<bool(const CollectiveCall&)>& takes_part)
      : calls_(point, chunks, takes_part),
        network_(calls_.symmetry().links, calls_.paths(), CollectiveRun::arrived, solver,
                 solves_max),
        actors_(actors_of(point, calls_.symmetry())),
        ranks_(point.cluster.ranks().value()) {}

  [[nodiscard]] const FoldedCalls& calls() const { return calls_; }

  // Throws NotFolded, also for a call whose table takes too long to follow.
  StepTrace run(const training::StepProgram& program,
                const std::function<const CallTable&(const CollectiveCall&)>& table_of) {
    double work = 0;
    const auto table = [&](training::OperationId id) -> const CallTable& {
      return table_of(std::get<CollectiveCall>(program.operations[id].work));
    };
    for (training::OperationId id = 0; id < program.operations.size(); ++id) {
      const bool is_call = std::holds_alternative<CollectiveCall>(program.operations[id].work);
      if (is_call && !table(id).together) work += work_of(table(id));
    }
    if (work > work_max) {
      throw NotFolded(fmt::format("{} ranks fall into {} classes that do alike", ranks_,
                                  calls_.symmetry().endpoints.size()));
    }
    StepRun step(program, actors_, network_, table);
    Regime regime(step, network_);
    try {
      step.start();
      network_.run([&regime] { regime.look(); });
    } catch (const FoldedNetwork::TooManySolves& reason) {
      throw NotFolded(reason.what());
    }
    return step.trace();
  }

 private:
  FoldedCalls calls_;
  FoldedNetwork network_;
  std::vector<StepActor> actors_;
  std::uint32_t ranks_;
};

// A call simulated apart, all ranks starting together.
struct ApartCall {
  std::unique_ptr<FoldedSimulation> simulation;
  CallTable table;  // `together` once it has run
  Seconds first_end;

  void run(const CollectiveCall& call) {
    training::StepProgram program;
    const auto lane = program.add_lane({"call", training::LaneKind::communication});
    program.add({"call", training::OperationKind::collective, lane, {}, call});
    const auto& tables = simulation->calls().tables();
    const StepTrace trace = simulation->run(
        program, [&](const CollectiveCall& one) -> const CallTable& { return tables.at(one); });
    Seconds last;
    first_end = Seconds(std::numeric_limits<double>::infinity());
    for (const RankClass& members : trace.classes) {
      first_end = std::min(first_end, members.spans.front().end);
      last = std::max(last, members.spans.front().end);
    }
    table.together = last;
  }
};

double transfers_of(const collectives::Plan& plan) {
  constexpr std::uint32_t asked_max = 64;
  const std::uint32_t endpoints = plan.endpoints().value();
  const std::uint32_t asked = std::min(endpoints, asked_max);
  double transfers = 0;
  for (const auto& channel : plan.channels) {
    for (const auto& round : channel.rounds) {
      std::size_t sends = 0;
      for (std::uint32_t i = 0; i < asked; ++i) {
        const auto endpoint = static_cast<std::uint32_t>(std::uint64_t{i} * endpoints / asked);
        sends += round.sends(Rank(endpoint)).size();
      }
      transfers +=
          static_cast<double>(sends) / asked * endpoints * static_cast<double>(round.repeats);
    }
  }
  return transfers;
}

void add_counts_and_notes(const ResolvedPoint& point, const FoldedCalls& calls,
                          const std::map<CollectiveCall, ApartCall>& apart, Result& result) {
  std::map<CollectiveCall, std::uint64_t> transfers;
  for (const auto& [call, table] : calls.tables()) transfers[call] = table.transfers();
  for (const auto& [call, one] : apart) {
    transfers[call] = one.simulation->calls().tables().at(call).transfers();
    const Seconds spread = *one.table.together - one.first_end;
    if (spread > Seconds(0)) {
      result.notes.push_back(
          fmt::format("folded: all ranks leave a {} of {} together, {} after "
                      "the first could",
                      to_text(call.collective), to_text(call.size()), to_text(spread)));
    }
  }
  for (const training::Operation& operation : point.program.operations) {
    const auto* call = std::get_if<CollectiveCall>(&operation.work);
    if (call != nullptr) result.transfers += transfers.at(*call);
  }
  if (calls.unevenness() > 0) {
    result.notes.push_back(fmt::format(
        "folded: chunks of a round taken as equal; the largest is {:.2g} % above the size taken",
        100 * calls.unevenness()));
  }
}

}  // namespace

double transfers_about(const ResolvedPoint& point) {
  const training::Planner planner(point.cluster);
  std::map<CollectiveCall, double> known;
  double transfers = 0;
  for (const training::Operation& operation : point.program.operations) {
    const auto* call = std::get_if<CollectiveCall>(&operation.work);
    if (call == nullptr) continue;
    const auto [entry, is_new] = known.try_emplace(*call, 0.0);
    if (is_new) entry->second = transfers_of(planner.plan_of(*call));
    transfers += entry->second;
  }
  return transfers;
}

Result simulate_folded(const ResolvedPoint& point, Chunks chunks) {
  PACELINE_EXPECTS(!find_fault(point.program));
  RateSolver solver;
  FoldedSimulation step(point, chunks, solver, [&](const CollectiveCall& call) {
    return chunks == Chunks::exact || !is_rooted(call);
  });
  std::map<CollectiveCall, ApartCall> apart;
  for (const training::Operation& operation : point.program.operations) {
    const auto* call = std::get_if<CollectiveCall>(&operation.work);
    if (call == nullptr || step.calls().tables().contains(*call) || apart.contains(*call)) continue;
    ApartCall& added = apart[*call];
    added.simulation = std::make_unique<FoldedSimulation>(
        point, chunks, solver, [&](const CollectiveCall& other) { return other == *call; });
    added.table.actors = static_cast<Actor>(step.calls().symmetry().endpoints.size());
    added.table.servers = servers_of(point, step.calls().symmetry());
  }
  for (auto& [call, one] : apart) one.run(call);
  Result result;
  result.id = point.id;
  result.fidelity = Fidelity::folded;
  result.trace = step.run(point.program, [&](const CollectiveCall& call) -> const CallTable& {
    const auto found = apart.find(call);
    return found != apart.end() ? found->second.table : step.calls().tables().at(call);
  });
  result.totals = totals_of(result.trace);
  result.simgrid_solves = solver.solves();
  add_counts_and_notes(point, step.calls(), apart, result);
  return result;
}

}  // namespace paceline::sim
