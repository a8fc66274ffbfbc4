#include "scenarios/prepare/resolve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "models/collectives/registry.h"
#include "models/cost/auto_choice.h"
#include "models/cost/host_sums.h"
#include "models/cost/nccl_call.h"
#include "models/stats/mixed.h"
#include "models/topology/ring_orders.h"
#include "models/training/call_plan.h"
#include "models/workload/attained.h"
#include "scenarios/prepare/calibrated.h"
#include "scenarios/prepare/library_calls.h"
#include "scenarios/prepare/overheads.h"
#include "sim/folded/predicted_point.h"

namespace paceline {
namespace {

using topology::IntraNodeKind;
using uncertain::LinkClass;

// Whether figures of links are of this machine. Those of a class are not, whatever a file says.
bool is_measured(const Scenario& scenario, bool is_of_class) {
  return !scenario.calibration.empty() || (scenario.network_is_measured && !is_of_class);
}

// Whether calls in a node cross PCIe.
bool crosses_hosts(const topology::Cluster& cluster) {
  return cluster.gpus_per_node > 1 && topology::way_of_rings(cluster) == topology::RingWay::hosts;
}

LinkClass class_in_node(const Scenario& scenario, bool crosses_hosts) {
  const topology::IntraNode& node = scenario.cluster.intra_node;
  if (is_measured(scenario, crosses_hosts && node.box_spread)) return LinkClass::measured;
  if (!crosses_hosts) {
    return node.kind == IntraNodeKind::pcie ? LinkClass::pcie_peers : LinkClass::nvlink;
  }
  const bool is_staged = node.pcie_tree && !node.pcie_tree->peer_to_peer;
  return is_staged ? LinkClass::pcie_staged : LinkClass::pcie_peers;
}

LinkClass class_of_hosts(const Scenario& scenario) {
  if (scenario.tcp_hosts.is_measured()) return LinkClass::measured;
  switch (scenario.tcp_hosts.provider) {
    case cost::Provider::unknown:
    case cost::Provider::other: return LinkClass::tcp_unknown;
    case cost::Provider::own: return LinkClass::tcp_own;
    default: return LinkClass::tcp_virtual;
  }
}

// TCP that was not looked at has an efficiency of its own, or is a plan's on hosts that are there.
LinkClass class_between_nodes(const Scenario& scenario) {
  const topology::Network& network = scenario.cluster.network;
  const BytesPerSecond wires = network.bandwidth * network.nics_per_node;
  const bool is_limited = scenario.tcp_rate && scenario.tcp_rate->low < wires;
  if (is_measured(scenario, is_limited)) return LinkClass::measured;
  switch (network.transport) {
    case topology::Transport::rdma: return LinkClass::rdma;
    case topology::Transport::efa: return LinkClass::efa;
    case topology::Transport::tcp: break;
  }
  return is_limited ? class_of_hosts(scenario) : LinkClass::rdma;
}

// Nobody has said at what rate it sums.
bool is_of_host_sums(const Scenario& scenario) {
  return scenario.sums_in_host_memory && !scenario.cluster.reduction_bandwidth;
}

using training::CollectiveCall;

constexpr AssumptionKind no_such_rank{
    "{}: this point does not contain rank {}, so its slowdown has no effect here"};
constexpr AssumptionKind of_host_sums{
    "{}: {} sums tensors of GPUs in host memory, with its copies at {} a rank ({} to {}); "
    "cluster.reduction_bandwidth overrides it"};
constexpr AssumptionKind no_tcp_limits{"{}: the host's own TCP limits are not modelled"};

std::uint64_t random_bits(std::uint64_t seed, std::uint64_t number) {
  return stats::mixed(seed + number * stats::golden_step);
}

// Uniform in [-1, 1].
double noise(std::uint64_t seed, std::uint64_t rank) {
  return static_cast<double>(random_bits(seed, rank) >> 11) * 0x1.0p-52 - 1.0;
}

// The nodes of all jobs, in the order in which they are dealt out.
std::vector<std::uint32_t> dealt_nodes(const Scenario& scenario) {
  std::vector<std::uint32_t> nodes(scenario.cluster.nodes * (scenario.other_jobs.count + 1));
  std::iota(nodes.begin(), nodes.end(), 0U);
  if (scenario.other_jobs.placement == JobPlacement::random) {
    // Fisher and Yates; the bias of a remainder of 64 bits is not seen.
    for (std::size_t left = nodes.size(); left > 1; --left) {
      std::swap(nodes[left - 1], nodes[random_bits(scenario.seed, left) % left]);
    }
  }
  return nodes;
}

std::vector<Job> jobs_of(const Scenario& scenario) {
  if (scenario.other_jobs.count == 0) return {};
  const std::vector<std::uint32_t> dealt = dealt_nodes(scenario);
  const std::size_t count = scenario.other_jobs.count + std::size_t{1};
  const bool in_turn = scenario.other_jobs.placement == JobPlacement::alternate;
  std::vector<Job> jobs(count);
  for (std::size_t n = 0; n < dealt.size(); ++n) {
    jobs[in_turn ? n % count : n / scenario.cluster.nodes].nodes.push_back(dealt[n]);
  }
  for (std::size_t j = 1; j < count; ++j) jobs[j].start = scenario.other_jobs.start;
  return jobs;
}

// `slowest`: of ranks that are alike, how many times as long as the mean the slowest takes.
std::vector<double> slowdowns(const Scenario& scenario, double slowest, Assumptions& assumptions) {
  // A strategy that replays has each rank's own compute in its program.
  const bool takes_traced = scenario.traced && !scenario.strategy->replays_trace;
  const bool are_alike = scenario.ranks.slowdown.empty() && scenario.ranks.jitter <= 0 &&
                         !takes_traced && slowest == 1;
  if (are_alike) return {};
  const std::uint32_t ranks = scenario.cluster.ranks().value();
  std::vector<double> factors(ranks, slowest);
  if (takes_traced) {
    const auto as_traced = training::ranks_traced_for(*scenario.traced, ranks);
    for (std::uint32_t r = 0; r < ranks; ++r) {
      factors[r] *= scenario.traced->slowdown[index(as_traced[r])];
    }
  }
  for (const auto& [rank, factor] : scenario.ranks.slowdown) {
    if (rank < ranks) {
      factors[rank] *= factor;
    } else {
      assumptions.add({no_such_rank, "ranks", {std::to_string(rank)}});
    }
  }
  for (std::uint32_t r = 0; r < ranks; ++r) {
    factors[r] *= 1.0 + scenario.ranks.jitter * noise(scenario.seed, r);
  }
  return factors;
}

// The point on its cluster, before its program is known.
ResolvedPoint placed(const Scenario& scenario, std::uint64_t id) {
  ResolvedPoint point;
  point.id = id;
  point.cluster = scenario.cluster;
  point.cluster.nodes *= scenario.other_jobs.count + 1;
  point.jobs = jobs_of(scenario);
  point.fidelity = scenario.fidelity;
  return point;
}

// The most servers, apart from its ranks, that the plan of any call asks for.
std::uint32_t separate_servers(const ResolvedPoint& point) {
  std::optional<training::Planner> planner;  // its search for rings is for those who need it
  const topology::Cluster nodes = job_cluster(point);
  std::uint32_t servers = 0;
  for (const training::Operation& operation : point.program.operations) {
    const CollectiveCall* call = call_of(operation);
    if (call != nullptr) servers = std::max(servers, training::servers_of_root(nodes, *call));
    const auto* options = call == nullptr ? nullptr : call->options();
    if (options == nullptr || !options->separate_servers) continue;
    if (!planner) planner.emplace(job_cluster(point));
    for (const auto& row : collectives::algorithms()) {
      const auto* simulated = call->simulated();
      const bool may_be = simulated == nullptr || simulated->algorithm == row.name;
      if (row.collective != call->collective || !may_be) continue;
      CollectiveCall by_row = *call;
      by_row.how = training::SimulatedCall{std::string(row.name), *options};
      servers = std::max(servers, planner->plan_of(by_row).servers);
    }
  }
  return servers;
}

void sum_in_host_memory(const Scenario& scenario, PreparedPoint& prepared) {
  if (!is_of_host_sums(scenario)) return;
  const double rate = cost::host_sums.value(), spread = cost::host_sums_spread;
  prepared.point.cluster.reduction_bandwidth = cost::host_sums;
  prepared.assumptions.add(
      {of_host_sums,
       "collective",
       {std::string(to_text(scenario.collective.library)), paceline::to_text(cost::host_sums),
        paceline::to_text(BytesPerSecond(rate / spread)),
        paceline::to_text(BytesPerSecond(rate * spread))}});
}

// Fewer ranks than were traced may be without the slowest, which a replay has, and one may be it.
RatioRange range_of_traced(const Scenario& scenario) {
  const training::TracedWork& traced = *scenario.traced;
  const std::uint32_t ranks = scenario.cluster.ranks().value();
  RatioRange range = traced.steps;
  if (ranks >= traced.ranks) return range;
  const double slowest = std::ranges::max(traced.slowdown);
  if (ranks == 1) range.high *= slowest;
  if (ranks > 1) range.low /= slowest;
  return range;
}

}  // namespace

uncertain::Place place_of(const Scenario& scenario) {
  if (is_as_traced(scenario)) return {};  // nothing of it is open
  const topology::Cluster& cluster = scenario.cluster;
  uncertain::Place place;
  place.log2_ranks = std::log2(cluster.ranks().value());
  place.log2_gpus_per_node = std::log2(cluster.gpus_per_node);
  place.log2_nodes = std::log2(cluster.nodes);
  const bool over_pcie = crosses_hosts(cluster);
  place.node = class_in_node(scenario, over_pcie);
  place.network = class_between_nodes(scenario);
  if (is_of_host_sums(scenario)) place.node = place.network = LinkClass::host_sums;
  place.hides_behind_slow =
      scenario.sums_in_host_memory ||
      (cluster.nodes == 1 ? over_pcie : cluster.network.transport == topology::Transport::tcp);
  const std::optional<double>& spread = cluster.intra_node.box_spread;
  const bool is_no_box = place.node == LinkClass::measured || is_of_host_sums(scenario);
  if (over_pcie && spread && !is_no_box) place.box = std::log(*spread);
  place.compute = std::log(scenario.compute_ratio) / uncertain::student_90(uncertain::freedom);
  place.shorter = scenario.compute_shorter;
  place.computes = fmt::format("{} {} {}", scenario.workload.name, scenario.workload.device.name,
                               paceline::to_text(scenario.precision));
  place.compute_is_measured = scenario.compute_ratio <= measured_compute;
  return place;
}

uncertain::Place described_place_of(const Scenario& scenario) {
  Scenario described = scenario;
  described.network_is_measured = false;
  return place_of(described);
}

// As is_measured: figures of a class of boxes, or of hosts that limit TCP or sum, are of their
// class.
uncertain::Place said_place_of(uncertain::Place described, bool is_measured) {
  if (!is_measured) return described;
  if (described.node == LinkClass::host_sums) return described;
  if (described.box == 0) described.node = LinkClass::measured;
  const bool is_of_hosts = described.network == LinkClass::tcp_own ||
                           described.network == LinkClass::tcp_virtual ||
                           described.network == LinkClass::tcp_unknown;
  if (!is_of_hosts) described.network = LinkClass::measured;
  return described;
}

// Between nodes boxes are left out: networks are mostly slower. Where sockets move more than was
// taken, what rings in a node carry is the next limit.
void plan_calls(const Scenario& scenario, PreparedPoint& prepared) {
  LibraryCalls library(scenario);
  for (training::Operation& operation : prepared.point.program.operations) {
    CollectiveCall* call = call_of(operation);
    if (call != nullptr && is_unplanned(*call)) library.plan(*call);
  }
  prepared.assumptions.add(library.assumptions());
}

void choose_automatic_calls(PreparedPoint& prepared) {
  prepared.assumptions.add(cost::choose_automatically(prepared.point, sim::folded_time));
}

PreparedCalls prepare_calls(const Scenario& scenario, std::vector<CollectiveCall> calls,
                            const std::string& algorithm) {
  Scenario alone = scenario;
  alone.sums_in_host_memory = false;  // whose ranks may be CPUs
  LibraryCalls library(alone);
  PreparedCalls prepared;
  for (CollectiveCall& call : calls) {
    PreparedCall& made = prepared.calls.emplace_back();
    if (algorithm.empty()) {
      made.protocol = library.plan(call);
    } else {
      library.plan_by(algorithm, call);
    }
    made.point = placed(scenario, prepared.calls.size() - 1);
    made.point.program = training::one_call_program(std::move(call));
    expect_options_are_used(scenario, made.point.program);
    made.point.cluster.servers = separate_servers(made.point);
  }
  prepared.assumptions = scenario.assumptions;
  prepared.assumptions.add(library.assumptions());
  return prepared;
}

namespace {

// The strategy's step: its calls are not planned yet.
training::BuiltStep step_of(const Scenario& scenario, const training::StrategyRequest& request) {
  training::BuiltStep built = build_step(*scenario.strategy, request);
  const bool has_copies = scenario.one_gpu_is_wrapped && scenario.cluster.ranks() > RankCount(1);
  if (has_copies) training::take_out_copies(built.program);
  return built;
}

Seconds time_at_peak_of(const Scenario& scenario,
                        const std::optional<training::GpuMemory>& memory) {
  if (!scenario.network) return Seconds(0);
  const workload::Workload& work = scenario.workload;
  // A time that is given for the optimizer is believed.
  const Bytes kept = memory ? memory->model.optimizer : Bytes(0);
  const Seconds states = std::min(kept * 2 / work.device.memory_bandwidth, work.optimizer);
  return workload::time_at_peak(*scenario.network,
                                work.batch_per_gpu * scenario.training.gradient_accumulation,
                                scenario.precision, work.device, states);
}

// How far hooks were seen to take longer than assumed: a step of Unknown::host.
constexpr double hook_unit = 10.0 / 17;
constexpr double hook_places[] = {2, 6, 15};

uncertain::Curve longer_hooks(const Scenario& scenario) {
  if (!has_gpu_overheads(scenario) || scenario.host_given.hooks) return {};
  const training::HostCosts& in_step = scenario.training.host;
  const bool is_hidden = !in_step.any();
  const training::HookTimes& hooks = scenario.strategy->hooks;
  const auto step_at = [&](double place) {
    training::HostCosts host = is_hidden ? scenario.hidden_host : in_step;
    host.per_gradient += hooks.per_gradient * (hook_unit * place);
    host.per_unit += hooks.per_unit * (hook_unit * place);
    return scenario.workload.one_gpu_step(scenario.training.gradient_accumulation,
                                          host.with_hooks(scenario.workload.layers));
  };
  const Seconds step = step_at(0);
  if (step <= Seconds(0)) return {};
  std::vector<std::pair<double, double>> moved;
  const auto add = [&](double place) {
    moved.emplace_back(place, std::log(step_at(place) / step));
  };
  if (in_step.per_gradient > Seconds(0)) add(-1 / hook_unit);
  for (const double place : hook_places) add(place);
  return uncertain::Curve(std::move(moved));
}

// The point without its program and without what is assumed of several GPUs.
PreparedPoint described_point(const Scenario& scenario, const training::StrategyRequest& request,
                              std::uint64_t id) {
  const std::uint32_t passes = scenario.training.gradient_accumulation;
  const double samples = static_cast<double>(scenario.workload.batch_per_gpu) * passes;
  auto memory = training::memory_of(*scenario.strategy, request);
  const Seconds at_peak = time_at_peak_of(scenario, memory);
  PreparedPoint point{.point = placed(scenario, id),
                      .one_gpu_step = plain_step_time(request),
                      .time_at_peak = at_peak,
                      .samples_per_step = samples * scenario.cluster.ranks().value(),
                      .setup = setup_of(scenario),
                      .launches = scenario.launches,
                      .place = place_of(scenario),
                      .longer_hooks = longer_hooks(scenario),
                      .contention = contention_of(scenario),
                      .channels = channels_of(scenario),
                      .device = scenario.workload.device,
                      .memory = std::move(memory),
                      .real = scenario.real};
  if (scenario.traced) point.traced = range_of_traced(scenario);
  return point;
}

// Calls as the library or logs have them, and the servers that they need.
void plan(const Calibration* calibration, const Scenario& scenario, PreparedPoint& prepared) {
  if (calibration != nullptr) give_times(*calibration, prepared);
  plan_calls(scenario, prepared);
  if (scenario.calibration.empty()) expect_options_are_used(scenario, prepared.point.program);
  const topology::Network& network = scenario.cluster.network;
  const bool is_tcp = network.transport == topology::Transport::tcp;
  prepared.point.cluster.servers = separate_servers(prepared.point);
  if (prepared.point.cluster.servers > 0) prepared.place.hides_behind_slow = is_tcp;
  if (is_tcp && scenario.cluster.nodes > 1 && network.efficiency == 1 && !scenario.tcp_rate) {
    prepared.assumptions.add({no_tcp_limits, "network"});
  }
}

// A node gets the samples of a step ready beside the one before, on a lane that nothing waits for.
void load_samples(const Scenario& scenario, PreparedPoint& prepared) {
  if (!scenario.input_rate) return;
  const double of_node = prepared.samples_per_step / scenario.cluster.nodes;
  prepared.load = Seconds(of_node / scenario.input_rate->value());
  training::StepProgram& program = prepared.point.program;
  const auto lane = program.add_lane({"loader", training::LaneKind::host});
  program.add({"load", training::OperationKind::load, lane, {}, prepared.load});
}

}  // namespace

PreparedPoint resolve(const Scenario& scenario, std::uint64_t id, const Calibration* calibration,
                      const Occasion& occasion) {
  training::StrategyRequest request = strategy_request(scenario);
  request.purpose = occasion.purpose;
  request.earlier = occasion.earlier;
  training::BuiltStep step = step_of(scenario, request);
  PreparedPoint prepared = described_point(scenario, request, id);
  prepared.point.program = std::move(step.program);
  prepared.assumptions = std::move(step.assumptions);
  prepared.assumptions.add(scenario.assumptions);
  sum_in_host_memory(scenario, prepared);
  prepared.place.is_unmeasured_strategy = prepared.assumptions.has(training::unmeasured_strategy);
  plan(calibration, scenario, prepared);
  // Ranks that really run are slower and faster by themselves.
  const bool is_predicted = occasion.purpose == training::Purpose::prediction;
  const double slowest = is_predicted ? slowest_rank(scenario, prepared.assumptions) : 1;
  prepared.point.slowdown = slowdowns(scenario, slowest, prepared.assumptions);
  // What makes the slowest of ranks that are alike is as much their hosts.
  for (training::Operation& operation : prepared.point.program.operations) {
    auto* time = std::get_if<Seconds>(&operation.work);
    const bool is_launch = operation.kind == training::OperationKind::launch;
    if (is_launch && scenario.models_launches()) *time = *time * slowest;
  }
  load_samples(scenario, prepared);
  return prepared;
}

}  // namespace paceline
