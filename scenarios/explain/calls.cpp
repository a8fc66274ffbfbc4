#include "scenarios/explain/calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

#include "models/collectives/registry.h"
#include "models/cost/composed_step.h"
#include "models/run/as_it_ran.h"
#include "models/topology/fabric.h"
#include "models/training/call_plan.h"
#include "models/units/parse.h"
#include "scenarios/advise/search.h"
#include "scenarios/predict/simulate.h"
#include "scenarios/prepare/library_calls.h"
#include "scenarios/prepare/resolve.h"
#include "scenarios/report/explain_cluster.h"
#include "sim/folded/predicted_point.h"

namespace paceline::explain {
namespace {

using training::CollectiveCall;
using training::OperationId;

// Who decided how calls are carried out, and what else there was.
class Deciders {
 public:
  Deciders(const Scenario& scenario, const PreparedPoint& prepared)
      : scenario_(scenario), prepared_(prepared), library_(scenario) {}

  // `planned`: as the point had it before it was predicted.
  void decide(const CollectiveCall& planned, ExplainedCall& call) {
    if (planned.known() != nullptr) {
      call.chosen_by = "its time is known: " + planned.known()->from;
    } else if (const auto* automatic = std::get_if<training::AutomaticCall>(&planned.how)) {
      call.chosen_by = "predictions of each algorithm alone";
      take(automatic_ranking(planned, automatic->options), call);
    } else if (!is_of_library(planned)) {
      call.chosen_by = "the strategy";
    } else if (library_.is_named(planned.collective)) {
      call.chosen_by = "collective.algorithm";
    } else if (const auto choices = library_.nccl_choices(planned); !choices.empty()) {
      call.chosen_by = fmt::format("NCCL 2.{}'s own model", library_.nccl_release().minor);
      std::vector<cost::RankedAlgorithm> ranking;
      for (const auto& one : choices) {
        ranking.push_back(
            {fmt::format("{} {}", to_text(one.algorithm), to_text(one.protocol)), one.time});
      }
      take(ranking, call);
    } else {
      call.chosen_by = fmt::format("the rule of library {}", to_text(scenario_.collective.library));
    }
  }

 private:
  // Whether the library would carry it out so, too.
  bool is_of_library(CollectiveCall call) {
    const std::string algorithm(algorithm_of(call));
    call.how = training::Unplanned{};
    library_.plan(call);
    return algorithm_of(call) == algorithm;
  }

  static void take(const std::vector<cost::RankedAlgorithm>& ranking, ExplainedCall& call) {
    if (!ranking.empty()) call.chosen = ranking[0];
    if (ranking.size() > 1) call.next = ranking[1];
  }

  const std::vector<cost::RankedAlgorithm>& automatic_ranking(
      const CollectiveCall& call, const collectives::AlgorithmOptions& options) {
    const auto [entry, is_new] = automatic_.try_emplace(call);
    if (is_new) {
      entry->second = cost::ranked_algorithms(prepared_.point, call, options, sim::folded_time);
    }
    return entry->second;
  }

  const Scenario& scenario_;
  const PreparedPoint& prepared_;
  LibraryCalls library_;
  std::map<CollectiveCall, std::vector<cost::RankedAlgorithm>> automatic_;
};

void take_times(const StepTrace& trace, const Timeline& timeline, ExplainedCall& call) {
  const auto& intervals = timeline.members->intervals;
  const training::Interval& ran = intervals[call.operation];
  call.start = ran.start;
  call.end = ran.end;
  call.joined = timeline.joined[call.operation];
  for (const OperationId before : trace.program.operations[call.operation].after) {
    call.ready = std::max(call.ready, intervals[before].end);
  }
  if (ran.released_by) call.waited_for = trace.program.operations[*ran.released_by].name;
  call.exposed = timeline.time_of(Counted::call, call.operation);
}

// Each different call once.
void find_parts(const PreparedPoint& prepared, const StepTrace& trace,
                std::vector<ExplainedCall>& calls) {
  std::vector<ExplainedCall*> order;
  for (ExplainedCall& call : calls) order.push_back(&call);
  std::ranges::stable_sort(order, std::ranges::greater(),
                           [](const ExplainedCall* call) { return call->exposed; });
  std::map<CollectiveCall, std::optional<CallParts>> known;
  for (ExplainedCall* call : order) {
    const CollectiveCall& made = *call_of(trace.program.operations[call->operation]);
    if (made.known() != nullptr) continue;
    const auto found = known.find(made);
    if (found != known.end()) {
      call->parts = found->second;
    } else if (known.size() < parts_most) {
      call->parts = known.emplace(made, parts_of(prepared.point, made)).first->second;
    }
  }
}

// nullopt: it is refused.
std::optional<Seconds> time_of(const ResolvedPoint& one) {
  const traces::Reply reply = simulate(one);
  if (const auto* failure = std::get_if<traces::Failure>(&reply)) {
    if (!failure->refused) throw BackendError("simulation", failure->what);
    return std::nullopt;
  }
  return std::get<Result>(reply).totals.step;
}

// Of one call by itself: what its library takes before the first message is counted apart.
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
    return BusiestLink{link.kind, std::string(link_name(link.kind)),
                       link_sharers(link, one_.cluster), link.bandwidth, busy(*most)};
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

struct Change {
  std::string what;
  Settings settings;
};

bool has_network(const PointOutcome& outcome) { return outcome.nodes > 1 || outcome.servers > 0; }

std::optional<Change> no_latency(const ExplainedPoint& point) {
  const topology::Cluster& cluster = point.scenario.cluster;
  Change made{"latency of links", {}};
  if (has_network(point.outcome)) made.settings.push_back({"cluster.network.latency", "0us"});
  if (cluster.gpus_per_node > 1) made.settings.push_back({"cluster.intra_node.latency", "0us"});
  if (has_network(point.outcome) && cluster.network.fat_tree) {
    made.settings.push_back({"cluster.network.core_latency", "0us"});
  }
  if (made.settings.empty()) return std::nullopt;
  return made;
}

// The setting that gives such links their bandwidth, and that; empty: several keys do.
std::pair<std::string, BytesPerSecond> bandwidth_of(topology::LinkKind link,
                                                    const topology::Cluster& cluster) {
  const topology::IntraNode& node = cluster.intra_node;
  switch (link) {
    case topology::LinkKind::nic: return {"cluster.network.bandwidth", cluster.network.bandwidth};
    case topology::LinkKind::host:
      return {"cluster.intra_node.host_bandwidth", *node.host_bandwidth};
    case topology::LinkKind::gpu_port:
    case topology::LinkKind::lane: return {"cluster.intra_node.bandwidth", node.bandwidth};
    default: return {};
  }
}

// So many times the bandwidth stands for any bandwidth: it leaves a thousandth of the bytes' time.
constexpr double widened = 1000;

std::optional<Change> no_bottleneck(const ExplainedPoint& point) {
  const ExplainedCall* longest = nullptr;
  for (const ExplainedCall& call : point.calls) {
    if (!call.parts || !call.parts->link) continue;
    if (longest == nullptr || call.exposed > longest->exposed) longest = &call;
  }
  if (longest == nullptr) return std::nullopt;
  const BusiestLink& link = *longest->parts->link;
  const auto [key, now] = bandwidth_of(link.kind, point.scenario.cluster);
  if (key.empty()) return std::nullopt;
  return Change{
      fmt::format("limit of the {} ({:.0f} times its bandwidth)", link.name, widened),
      {{key, fmt::format("{:.0f}GBps", std::max(1.0, std::round(now.value() * widened * 1e-9)))}}};
}

std::optional<Change> no_contention(const ExplainedPoint& point) {
  const auto& slowdown = point.outcome.predicted->contention;
  if (!slowdown) return std::nullopt;
  Change made{"contention", {{"contention", "off"}}};
  if (slowdown->calls > 1) made.settings.push_back({"call_contention", "1"});
  return made;
}

std::optional<Change> no_stragglers(const ExplainedPoint& point) {
  if (point.outcome.predicted->alone->point.slowdown.empty()) return std::nullopt;
  Change made{"stragglers", {{"ranks.spread", "0%"}}};
  if (point.scenario.ranks.jitter > 0) made.settings.push_back({"ranks.jitter", "0%"});
  if (!point.scenario.ranks.slowdown.empty()) made.settings.push_back({"ranks.slowdown", "{}"});
  return made;
}

std::optional<Change> no_host(const ExplainedPoint& point) {
  const training::HostCosts& host = point.scenario.training.host;
  Change made{"the host's cost", {}};
  const auto none = [&](Seconds cost, const char* key) {
    if (cost > Seconds(0)) made.settings.push_back({key, "0us"});
  };
  none(host.launches.forward, "training.host.per_operation");
  none(host.per_gradient, "training.host.per_gradient");
  none(host.per_call, "training.host.per_call");
  if (made.settings.empty()) return std::nullopt;
  return made;
}

class Repredicted {
 public:
  Repredicted(const ExplainedPoint& point, const RunOptions& options)
      : point_(point), options_(options) {}

  void add(const std::optional<Change>& change) {
    if (change) rows_.push_back(with(*change));
  }

  // The quickest of those that the library can be told, by which any call runs otherwise.
  void add_other_algorithm() {
    if (point_.calls.empty()) return;
    std::optional<Without> best;
    for (const auto& axis : advise::options_of(point_.scenario)) {
      for (const advise::Candidate& other : axis) {
        if (other.option != advise::Option::collective || other.settings.empty()) continue;
        std::vector<CallTimes> calls;
        Without made = with({"the algorithm: the best other one", other.settings}, &calls);
        const bool is_other = !std::ranges::equal(calls, point_.outcome.predicted->calls, {},
                                                  &CallTimes::algorithm, &CallTimes::algorithm);
        if (made.step && is_other && (!best || *made.step < *best->step)) best = std::move(made);
      }
    }
    if (best) rows_.push_back(std::move(*best));
  }

  void add_replays() {
    if (point_.calls.empty()) return;
    const StepTrace& trace = point_.outcome.predicted->trace;
    ResolvedPoint ran;
    ran.cluster.gpus_per_node = rank_count(trace);
    ran.program = as_it_ran(trace);
    for (training::Operation& operation : ran.program.operations) {
      if (call_of(operation) != nullptr) continue;
      std::erase_if(operation.after, [&](training::OperationId before) {
        return call_of(ran.program.operations[before]) != nullptr;
      });
    }
    rows_.push_back({"waiting for calls: perfect overlap", {}, step_of(ran), ""});
    ran.program = as_it_ran(trace);
    for (CollectiveCall* call : calls_in(ran.program)) {
      std::get<training::KnownCall>(call->how).time = Seconds(0);
    }
    rows_.push_back({"any time of calls", {}, step_of(ran), ""});
  }

  [[nodiscard]] std::vector<Without> rows() { return std::move(rows_); }

 private:
  [[nodiscard]] static Seconds step_of(const ResolvedPoint& ran) {
    return totals_of(cost::trace_of(ran)).step;
  }

  // `calls`, unless null, gets those of the step.
  [[nodiscard]] Without with(const Change& change, std::vector<CallTimes>* calls = nullptr) {
    if (options_.progress) {
      options_.progress({.done = ++predicted_, .of = "predictions", .doing = change.what});
    }
    Settings all = point_.settings;
    all.insert(all.end(), change.settings.begin(), change.settings.end());
    Without made{change.what, change.settings, std::nullopt, ""};
    try {
      const Attempt made_of =
          attempt([&] { return ScenarioFile::read(point_.path, all); }, options_);
      made.refusal = made_of.refusal;
      if (made_of.outcome) made.step = made_of.outcome->predicted->totals.step;
      if (made_of.outcome && calls != nullptr) *calls = made_of.outcome->predicted->calls;
    } catch (const InputError& error) {
      made.refusal = error.what();
    }
    return made;
  }

  const ExplainedPoint& point_;
  const RunOptions& options_;
  std::vector<Without> rows_;
  std::size_t predicted_ = 0;  // the point itself with them
};

}  // namespace

std::vector<ExplainedCall> calls_of_step(const Scenario& scenario, const PointOutcome& outcome,
                                         const Timeline& timeline) {
  const Prediction& predicted = *outcome.predicted;
  const PreparedPoint& prepared = *predicted.alone;
  Deciders deciders(scenario, prepared);
  std::vector<ExplainedCall> calls;
  for (const CallTimes& times : predicted.calls) {
    const auto& operation = predicted.trace.program.operations[times.operation];
    ExplainedCall& call = calls.emplace_back();
    call.operation = times.operation;
    call.name = times.name;
    call.collective = times.collective;
    call.size = times.size;
    call.algorithm = times.algorithm;
    call.group = call_of(operation)->group;
    call.held = call_of(operation)->held;
    call.together = times.together();
    take_times(predicted.trace, timeline, call);
    deciders.decide(*call_of(prepared.point.program.operations[times.operation]), call);
  }
  find_parts(prepared, predicted.trace, calls);
  return calls;
}

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

std::vector<Without> without_each(const ExplainedPoint& point, const RunOptions& options) {
  Repredicted made(point, options);
  made.add(no_latency(point));
  made.add(no_bottleneck(point));
  made.add(no_contention(point));
  made.add(no_stragglers(point));
  made.add(no_host(point));
  made.add_other_algorithm();
  made.add_replays();
  return made.rows();
}

}  // namespace paceline::explain
