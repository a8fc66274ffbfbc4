#include "scenarios/judge/health.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "models/collectives/nccl_tests.h"
#include "models/cost/bounds.h"
#include "models/cost/nccl_tuning.h"
#include "models/topology/fabric.h"
#include "models/uncertain/covariance.h"
#include "models/units/parse.h"
#include "scenarios/errors.h"
#include "scenarios/predict/simulate.h"
#include "scenarios/prepare/resolve.h"

namespace paceline {
namespace {

using Settings = std::vector<ScenarioFile::Setting>;

// A part of the machine's nodes, or of each node, where the log has that.
Scenario scenario_of(const DescribedMachine& machine, const LogTable& table,
                     const Settings& changes) {
  ScenarioValues values = small_values();
  const bool says_version = cost::nccl::Release::minor_of(table.release).has_value();
  values.set_given({{"cluster.preset", machine.preset},
                    {"cluster.nodes", std::to_string(table.shape.nodes)},
                    {"training.strategy", "bulk_synchronous"},
                    {"workload.device", machine.device},
                    {"cluster.gpus", machine.device.empty() ? "any" : ""},
                    {"collective.library", "nccl"},
                    {"collective.version", says_version ? table.release : ""}});
  const topology::Cluster whole = scenario_of_options(values, machine.settings).cluster;
  if (machine.device.empty())
    values.set_given({{"workload.device", whole.gpu}, {"cluster.gpus", ""}});
  const std::uint32_t ranks =
      table.shape.ranks_per_node == 0 ? whole.gpus_per_node : table.shape.ranks_per_node;
  if (ranks > whole.gpus_per_node) {
    throw InputError({table.file},
                     fmt::format("has {} GPUs a node, and {} has {}", ranks, machine.preset,
                                 whole.gpus_per_node),
                     "name another preset, or --nodes");
  }
  if (table.shape.nodes == 1) {
    values.set_given({{"gpus", std::to_string(ranks)}});
  } else if (ranks != whole.gpus_per_node) {
    const std::uint32_t nics = whole.network.nics_per_node * ranks / whole.gpus_per_node;
    values.set_given({{"cluster.gpus_per_node", std::to_string(ranks)},
                      {"cluster.network.nics_per_node", std::to_string(std::max(1U, nics))}});
  }
  Settings settings = machine.settings;
  settings.insert(settings.end(), changes.begin(), changes.end());
  return scenario_of_options(values, settings);
}

// What makes machines slower than they are described: a row of settings each, the same rows in the
// same order for every group of a machine's GPUs.
std::vector<Suspect> all_suspects(const topology::Cluster& cluster) {
  std::vector<Suspect> all;
  const auto add = [&](std::string words, Settings settings, std::string look_at) {
    all.push_back({std::move(words), std::move(settings), std::move(look_at)});
  };
  for (const std::uint32_t part : {2U, 4U, 8U}) {
    const std::uint32_t some = std::max(1U, cluster.network.nics_per_node / part);
    add(fmt::format("1/{} of the NICs", part),
        {{"cluster.network.nics_per_node", std::to_string(some)}},
        "NCCL_DEBUG=INFO: how many adapters the line NET/ lists; ibstat: which ports are Active");
  }
  for (const double part : {0.5, 0.25}) {
    add(fmt::format("NICs at {:g} of their rate (a port, a cable or a slot)", part),
        {{"cluster.network.bandwidth", to_text(cluster.network.bandwidth * part)}},
        "ib_write_bw or iperf3 between two nodes, one NIC at a time; ibstat: Rate; lspci: LnkSta");
    add(fmt::format("links in the node at {:g} of their rate", part),
        {{"cluster.intra_node.bandwidth", to_text(cluster.intra_node.bandwidth * part)}},
        "nvidia-smi nvlink -s, or topo -m; p2pBandwidthLatencyTest");
  }
  add("TCP in place of RDMA", {{"cluster.network.transport", "tcp"}},
      "NCCL_DEBUG=INFO: NET/Socket in place of NET/IB");
  // Without peer to peer and its NVLink what is left is PCIe, a card at 12 GB/s of 3.0's sixteen
  // lanes (src/graph/topo.h).
  add("no NVLink in use", {{"cluster.intra_node", "{kind: pcie, bandwidth: 12GBps, latency: 5us}"}},
      "nvidia-smi nvlink -s; NCCL_DEBUG=INFO: via SHM in place of via P2P");
  add("PCIe without peers", {{"cluster.intra_node.peer_to_peer", "false"}},
      "nvidia-smi topo -p2p r; NCCL_DEBUG=INFO: via SHM in place of via P2P");
  add("NVLS off", {{"collective.nvls", "false"}}, "NCCL_DEBUG=INFO: NVLS multicast support");
  return all;
}

// As described, or by one of all_suspects().
HealthOfLog predicted_log(const DescribedMachine& machine, const LogTable& table,
                          std::optional<std::size_t> suspect) {
  Scenario scenario = scenario_of(machine, table, {});
  if (suspect) {
    scenario = scenario_of(machine, table, all_suspects(scenario.cluster)[*suspect].settings);
  }
  HealthOfLog made{table.file, table.shape};
  std::vector<training::CollectiveCall> calls;
  for (const cost::CollectiveSample& sample : table.samples) {
    const ElementSize size(4);
    calls.push_back(
        {table.shape.collective, ElementCount(sample.size.value() / size.value()), size});
  }
  const PreparedCalls prepared = prepare_calls(scenario, std::move(calls), "");
  const Executor simulate = simulation(false);
  for (std::size_t i = 0; i < prepared.calls.size(); ++i) {
    const ResolvedPoint& point = prepared.calls[i].point;
    const auto reply = simulate(point);
    const auto* result = std::get_if<Result>(&reply);
    if (result == nullptr) throw BackendError("simulation", std::get<traces::Failure>(reply).what);
    const auto& call = *call_of(result->trace.program.operations.front());
    const Seconds time = result->totals.step;
    const cost::LeastTimes wires = cost::least_times(scenario.cluster, call);
    const Seconds least = std::min(time, wires.node_links + wires.network);
    made.rows.push_back({table.samples[i].size,
                         table.samples[i].time,
                         {time, std::max(time * call.range.low, least), time * call.range.high}});
  }
  return made;
}

// Health::off of these logs; nullopt: none has a row that counts.
std::optional<double> distance(std::span<const HealthOfLog> logs) {
  double sum = 0, rows = 0;
  for (const HealthOfLog& log : logs) {
    for (const LogRow& row : log.rows) {
      if (row.size < health_from) continue;
      sum += std::pow(std::log(row.measured / row.predicted.time), 2);
      ++rows;
    }
  }
  return rows == 0 ? std::nullopt : std::optional(std::sqrt(sum / rows));
}

// Throws InputError where the description cannot be changed so.
std::vector<HealthOfLog> predicted_logs(const DescribedMachine& machine,
                                        const std::vector<LogTable>& tables,
                                        std::optional<std::size_t> suspect = std::nullopt) {
  std::vector<HealthOfLog> logs;
  for (const LogTable& table : tables) logs.push_back(predicted_log(machine, table, suspect));
  return logs;
}

std::optional<double> off_by(const DescribedMachine& machine, const std::vector<LogTable>& tables,
                             std::size_t suspect) {
  try {
    return distance(predicted_logs(machine, tables, suspect));
  } catch (const InputError&) {
    return std::nullopt;
  }
}

// Those that fit at half the distance or less, and about as well as the best of them.
std::vector<Suspect> suspects_of(const DescribedMachine& machine,
                                 const std::vector<LogTable>& tables, double off) {
  constexpr double fits = 0.5, as_well = 1.5;
  constexpr std::size_t named = 3;
  std::vector<Suspect> found;
  const auto nodes_of = [](const LogTable& table) { return table.shape.nodes; };
  const LogTable& largest = *std::ranges::max_element(tables, {}, nodes_of);
  std::vector<Suspect> all = all_suspects(scenario_of(machine, largest, {}).cluster);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto by_it = off_by(machine, tables, i);
    if (!by_it || *by_it > fits * off) continue;
    const bool is_named =  // of few NICs a quarter is an eighth
        !found.empty() && spelled(found.back().settings) == spelled(all[i].settings);
    if (is_named) continue;
    all[i].off = *by_it;
    found.push_back(std::move(all[i]));
  }
  std::ranges::stable_sort(found, {}, &Suspect::off);
  while (found.size() > named ||
         (!found.empty() && found.back().off > as_well * found.front().off)) {
    found.pop_back();
  }
  return found;
}

Verdict verdict_on(const HealthOfLog& log) {
  std::size_t rows = 0, slower = 0, faster = 0;
  for (const LogRow& row : log.rows) {
    if (row.size < health_from) continue;
    ++rows;
    if (row.side() > 0) ++slower;
    if (row.side() < 0) ++faster;
  }
  if (rows == 0) return Verdict::unjudged;
  if (3 * slower > rows || (log.link && slower > 0)) return Verdict::slow;
  return 3 * faster > rows ? Verdict::fast : Verdict::healthy;
}

std::string sentence_on(const HealthOfLog& log) {
  if (log.verdict == Verdict::unjudged) return std::string(to_text(log.verdict));
  const auto weight = [&](const LogRow& row) {
    return log.link ? row.measured / row.predicted.high : static_cast<double>(row.size.value());
  };
  const LogRow& row = *std::ranges::max_element(log.rows, {}, weight);
  const auto busbw = [&](Seconds time) { return log.busbw(row.size, time); };
  // A link of half its rate may lie inside as well.
  const bool tells_halves = row.predicted.high < row.predicted.low * 2.0;
  return fmt::format("{}: {:.4g} GB/s of {}; such {} give {:.4g} to {:.4g}{}", to_text(log.verdict),
                     busbw(row.measured), log.link ? row.link : "busbw at " + to_text(row.size),
                     log.link ? "links" : "nodes", busbw(row.predicted.high),
                     busbw(row.predicted.low),
                     tells_halves || log.verdict != Verdict::healthy
                         ? ""
                         : ", which does not tell a whole link from half of one");
}

constexpr Bytes over_a_link{1'000'000'000};

// A GPU's link to its host is no quantity of calls: its interval is judged.
cost::Prediction predicted_link(const Scenario& scenario, const traces::LinkTest& test) {
  const topology::Cluster& cluster = scenario.cluster;
  const topology::IntraNode& node = cluster.intra_node;
  uncertain::Place place = place_of(scenario);
  place.log2_gpus_per_node = place.log2_nodes = 1;
  auto quantity = uncertain::Unknown::network;
  BytesPerSecond rate = cluster.network.usable_bandwidth(), most = cluster.network.bandwidth;
  if (test.link == traces::TestedLink::gpus) {
    quantity = uncertain::Unknown::node_links;
    rate = most = BytesPerSecond(std::numeric_limits<double>::infinity());
    const topology::Fabric fabric(cluster);
    const topology::Path path = fabric.path(Rank(test.gpus[0]), Rank(test.gpus[1]));
    for (const auto& port : {fabric.out_ports()[path.out], fabric.in_ports()[path.in]}) {
      for (const topology::LinkId id : fabric.links_of(port)) {
        const auto [bandwidth, kind] = fabric.links()[id];
        rate = std::min(rate, bandwidth);
        // Of a pair without NVLink, where others have it.
        if (kind == topology::LinkKind::host) place.node = uncertain::LinkClass::pcie_peers;
      }
    }
  } else if (test.link != traces::TestedLink::network) {
    if (node.kind != topology::IntraNodeKind::pcie && !node.host_bandwidth) {
      throw InputError({"--preset"}, "does not say what joins a GPU and its host",
                       "add --set cluster.intra_node.host_bandwidth=24GBps");
    }
    const Seconds time = over_a_link / node.host_link(test.gpus[0]);
    return {time, time * judged_range.low, time * judged_range.high};
  }
  const auto& priors = uncertain::known_priors();
  const double centre = uncertain::centre(priors, quantity, place);
  const double apart = uncertain::student_90(uncertain::freedom) *
                       std::sqrt(uncertain::covariance(priors, quantity, place, place, true));
  const Seconds time = over_a_link / rate;
  return {time * std::exp(centre), std::max(time * std::exp(centre - apart), over_a_link / most),
          time * std::exp(centre + apart)};
}

// Of the tests that are of such a link, on a group of the GPUs that these have.
HealthOfLog health_of_links(const DescribedMachine& machine, const std::string& file,
                            const std::vector<traces::LinkTest>& tests, traces::TestedLink link) {
  const bool is_network = link == traces::TestedLink::network;
  HealthOfLog made{file, {}, link};
  LogTable group;
  group.file = file;
  group.shape.nodes = is_network ? 2 : 1;
  for (const auto& test : tests) {
    const std::uint32_t gpus = is_network ? 0 : std::max(test.gpus[0], test.gpus[1]) + 1;
    group.shape.ranks_per_node = std::max(group.shape.ranks_per_node, gpus);
  }
  const Scenario scenario = scenario_of(machine, group, {});
  for (const auto& test : tests) {
    if (test.link != link) continue;
    made.rows.push_back({over_a_link, over_a_link / test.rate, predicted_link(scenario, test),
                         std::nullopt, test.name});
  }
  return made;
}

}  // namespace

double HealthOfLog::busbw(Bytes size, Seconds time) const {
  const double factor =
      link ? 1 : collectives::bus_factor(shape->collective, RankCount(shape->ranks()));
  return factor * (size / time).value() / 1e9;
}

bool Health::is_slow() const {
  return std::ranges::any_of(
      logs, [](const auto& one) { return one.verdict == Verdict::slow && !one.link; });
}

Health health_of(const DescribedMachine& machine, const MeasuredFiles& files) {
  Health made{predicted_logs(machine, files.logs), 0, {}};
  const auto off = distance(made.logs);
  if (!off && files.tests.empty()) {
    throw InputError({files.logs.empty() ? "--preset" : files.logs.front().file},
                     "finds no row of 1 MiB or more that can be predicted",
                     "run nccl-tests with -b 1M -e 1G -f 2");
  }
  made.off = off.value_or(0);
  for (const auto& [file, tests] : files.tests) {
    for (const auto link : values_of<traces::TestedLink>) {
      if (std::ranges::count(tests, link, &traces::LinkTest::link) == 0) continue;
      made.logs.push_back(health_of_links(machine, file, tests, link));
    }
  }
  for (HealthOfLog& log : made.logs) {
    log.verdict = verdict_on(log);
    log.sentence = sentence_on(log);
  }
  if (made.is_slow()) made.suspects = suspects_of(machine, files.logs, made.off);
  return made;
}

}  // namespace paceline
