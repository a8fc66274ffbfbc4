#include "scenarios/loader/load_scenario.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <string_view>
#include <utility>

#include "scenarios/loader/data_files/data_files.h"
#include "scenarios/loader/load_collective.h"
#include "scenarios/loader/load_trace.h"
#include "scenarios/loader/load_training.h"
#include "scenarios/loader/sections.h"

namespace paceline::loader {
namespace {

// Of this map; sections with required keys have theirs.
constexpr std::array<std::string_view, 14> scenario_keys{
    "contention", "other_jobs", "schema",     "name",  "workload", "cluster",  "training",
    "collective", "ranks",      "simulation", "sweep", "gpus",     "measured", "real"};

// Messages wait for their receivers as those of the library do over TCP, unless the scenario says
// how. Paceline's own plans post receives ahead on Gloo. For MPI they cut messages so short that it
// does not ask the receiver first; peers that were none in the round before they ask themselves,
// over any transport.
void wait_as_the_library(Reader& file, Scenario& scenario) {
  topology::Network& network = scenario.cluster.network;
  Reader section = file.map("cluster").map("network");
  const auto library = scenario.collective.library;
  const auto runs_on = [&](std::string_view backend) {
    return library == cost::Library::plan && file.has("real") && scenario.real.backend == backend;
  };
  using topology::Receives;
  const bool is_said = section.has("receives");
  if (!is_said && runs_on("mpi")) network.receives = Receives::announced_to_new_peers;
  if (network.transport != topology::Transport::tcp) return;
  if (!is_said && library == cost::Library::gloo) network.receives = Receives::announced;
  if (!is_said && runs_on("gloo")) network.receives = Receives::announced_ahead;
  // btl_tcp_eager_limit of Open MPI 4.1.
  constexpr Bytes open_mpi_eager_limit{64 * 1024};
  if (!section.has("rendezvous_above") && library == cost::Library::mpi) {
    network.rendezvous_above = open_mpi_eager_limit;
  }
}

// Beside the scenario's own file.
std::string calibration_of(Reader& cluster) {
  const auto path = cluster.find("calibration");
  if (!path) return "";
  return (std::filesystem::path(path->document()->folder) / path->text()).string();
}

void size_cluster(Reader& file, Scenario& scenario) {
  topology::Cluster& cluster = scenario.cluster;
  if (const auto gpus = file.find("gpus")) {
    const auto sized = cluster.with_gpus(static_cast<std::uint32_t>(gpus->count(1, 1'000'000)));
    if (!sized) {
      gpus->fail(fmt::format("does not fill nodes of {} GPUs", cluster.gpus_per_node),
                 fmt::format("write a multiple of {}, or less for a part of one node",
                             cluster.gpus_per_node));
    }
    cluster = *sized;
  }
  if (cluster.nodes > 1 && cluster.network.latency == Seconds(0)) {
    scenario.assumptions.add({no_latency, "network"});
  }
  if (cluster.gpus_per_node > 1 && cluster.intra_node.latency == Seconds(0)) {
    scenario.assumptions.add({no_latency, "intra_node"});
  }
  if (cluster.nodes > 1 && cluster.network.bandwidth == BytesPerSecond(0)) {
    throw InputError(file.map("cluster").location(), "cluster.network.bandwidth is missing",
                     "write network: {bandwidth: 100Gbps}");
  }
}

}  // namespace

Scenario load_scenario(const DocumentPtr& document, const Overrides& overrides) {
  Reader file(document, document->root, "", overrides);
  file.expect_only(scenario_keys);
  const Field schema = file.require("schema", "paceline/1");
  if (schema.text() != "paceline/1") schema.fail("is not known", "write schema: paceline/1");
  Scenario scenario;
  scenario.name = file.require("name", "my scenario").text();
  (void)file.has("sweep");
  (void)file.has("measured");
  (void)file.find("gpus");
  for (const auto& [path, field] : overrides) scenario.set_paths.insert(path);

  const auto section = [&](const char* key, const char* example) {
    if (!file.has(key)) (void)file.require(key, example);
    return file.map(key);
  };
  Reader workload = section("workload", "{model: resnet50, batch_per_gpu: 32, ...}");
  Reader training = section("training", "{strategy: ddp}");
  load_workload(workload, overrides, scenario);
  Reader cluster = section("cluster", "{nodes: 4, gpus_per_node: 8, ...}");
  scenario.calibration = calibration_of(cluster);
  scenario.cluster = load_cluster(std::move(cluster));
  scenario.real = load_real(file.map("real"));
  scenario.collective = load_collective(
      file.map("collective"), file.has("real") ? library_of(scenario.real) : cost::Library::nccl);
  wait_as_the_library(file, scenario);
  const bool optimizer_modelled = load_training(training, scenario);
  rescale_to_measurement(workload, optimizer_modelled, scenario);
  load_ranks(file.map("ranks"), scenario);
  const Reader other_jobs = file.map("other_jobs");
  scenario.other_jobs = load_other_jobs(other_jobs);
  scenario.contention = load_contention(file);
  if (scenario.traced && scenario.contention.assumed) {
    throw InputError(scenario.contention.where,
                     "contention is assumed by a device's memory, and a trace tells none",
                     "leave it out: traced compute has in it what it lost beside collectives");
  }
  load_simulation(file.map("simulation"), scenario);
  size_cluster(file, scenario);
  assume_unmeasured_speed(workload, scenario);
  check_strategy(training, scenario);
  check_other_jobs(other_jobs, scenario);
  check_traced_ranks(workload, scenario);
  workload.finish();
  training.finish();
  if (scenario.workload.one_gpu_step(1) == Seconds(0)) {
    throw InputError(workload.location(), "the step takes no time", "give layers that take some");
  }
  file.finish();
  return scenario;
}

}  // namespace paceline::loader
