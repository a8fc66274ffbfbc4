#include "scenarios/loader/job/job.h"

namespace paceline {

using loader::Field;

namespace {

// A value of no text, for messages that show a file.
Field value_in(const Field& file, const char* path, const std::string& text) {
  return {file.document(), loader::Node(text), path};
}

}  // namespace

std::vector<std::uint32_t> PlannedJob::measured_batches(const Machine& machine) const {
  std::vector<std::uint32_t> found;
  for (const auto& [device, batch] : measured) {
    if (device == machine.device) found.push_back(batch);
  }
  return found;
}

ScenarioFile PlannedJob::scenario(const Machine& machine, std::uint32_t nodes,
                                  const std::vector<ScenarioFile::Setting>& more) const {
  const std::uint64_t gpus = std::uint64_t{nodes} * machine.gpus_per_node;
  std::map<std::string, Field> all = sections;
  all.insert(
      {{"workload.device", *machine.device_field},
       {"cluster", *machine.cluster},
       {"gpus", value_in(*machine.cluster, "gpus", std::to_string(gpus))},
       {"simulation.fidelity", value_in(sections.at("name"), "simulation.fidelity", "folded")}});
  std::vector<ScenarioFile::Setting> given = settings;
  given.insert(given.end(), more.begin(), more.end());
  return ScenarioFile::of_sections(path, all, given);
}

}  // namespace paceline
