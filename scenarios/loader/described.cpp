#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "models/units/parse.h"
#include "scenarios/loader/scenario_file.h"

namespace paceline {
namespace {

// Whether the path, or what is above it, is an axis.
bool is_swept(const ScenarioFile& file, std::string_view path) {
  return std::ranges::any_of(file.axes(), [&](const ScenarioFile::Axis& axis) {
    return path == axis.path || (path.starts_with(axis.path) && path[axis.path.size()] == '.');
  });
}

std::string workload_in_words(const ScenarioFile& file, const Scenario& scenario) {
  std::vector<std::string> words;
  const std::string& name = scenario.workload.name;
  if (!name.empty() && name != file.name() && !is_swept(file, "workload.model")) {
    words.push_back(name);
  }
  if (!scenario.traced && !is_swept(file, "workload.precision")) {
    words.emplace_back(to_text(scenario.precision));
  }
  const std::uint32_t batch = scenario.workload.batch_per_gpu;
  if (!is_swept(file, "workload.batch_per_gpu") && !is_swept(file, "job.global_batch")) {
    words.push_back(fmt::format("{} sample{} per GPU", batch, batch == 1 ? "" : "s"));
  }
  const std::uint64_t sequence = scenario.network ? scenario.network->sequence : 0;
  if (sequence > 0 && !is_swept(file, "workload.sequence")) {
    words.push_back(fmt::format("sequences of {} tokens", sequence));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string gpus_in_words(const ScenarioFile& file, const Scenario& scenario) {
  std::vector<std::string> words;
  const std::string& device = scenario.workload.device.name;
  if (!device.empty() && !is_swept(file, "workload.device")) words.push_back(device);
  if (!is_swept(file, "cluster.gpus_per_node") && !is_swept(file, "cluster.preset")) {
    const std::uint32_t of_node = scenario.cluster.gpus_per_node;
    words.push_back(fmt::format("{} GPU{} per node", of_node, of_node == 1 ? "" : "s"));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

// Only what is between nodes: on one there is none.
std::string network_in_words(const ScenarioFile& file, const Scenario& scenario) {
  const topology::Network& network = scenario.cluster.network;
  const bool is_crossed = scenario.cluster.nodes > 1 && !is_as_traced(scenario);
  if (!is_crossed || is_swept(file, "cluster.network") || is_swept(file, "cluster.preset")) {
    return "";
  }
  const std::uint32_t nics = network.nics_per_node;
  const bool has_several = nics > 1 && !is_swept(file, "cluster.network.nics_per_node");
  const bool has_bandwidth = !is_swept(file, "cluster.network.bandwidth");
  std::string words = "network";
  if (has_bandwidth && has_several) words += fmt::format(" {} x", nics);
  constexpr double gigabits = 8e-9;
  if (has_bandwidth) words += fmt::format(" {:.4g} Gb/s", network.bandwidth.value() * gigabits);
  if (!is_swept(file, "cluster.network.transport")) {
    words += network.transport == topology::Transport::tcp ? " TCP" : " RDMA";
  }
  if (!has_bandwidth && has_several) words += fmt::format(", {} NICs per node", nics);
  return words == "network" ? "" : words;
}

std::vector<std::string> described(const ScenarioFile& file, const Scenario& scenario) {
  std::vector<std::string> all{workload_in_words(file, scenario), gpus_in_words(file, scenario),
                               network_in_words(file, scenario)};
  if (scenario.strategy != nullptr && !is_swept(file, "training.strategy")) {
    all.emplace_back(scenario.strategy->name);
  }
  std::erase(all, "");
  return all;
}

}  // namespace

std::vector<std::string> described(const ScenarioFile& file) {
  try {
    return described(file, file.scenario(file.point_count() - 1));
  } catch (const InputError&) {
    return {};
  }
}

}  // namespace paceline
