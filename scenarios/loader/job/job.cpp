#include "scenarios/loader/job/job.h"

#include <algorithm>
#include <set>
#include <utility>

#include "scenarios/loader/job/job_parts.h"
#include "scenarios/loader/job/load_catalogue.h"

namespace paceline {

using loader::Field;

namespace {

// A value of no text, for messages that show a file.
Field value_in(const Field& file, const char* path, const std::string& text) {
  return {file.document(), loader::Node(text), path};
}

}  // namespace

std::vector<std::uint32_t> PlannedJob::measured_batches(const Machine& machine) const {
  std::set<std::uint32_t> found;
  for (const MeasuredOnOneGpu& one : parts->measured) {
    if (one.device == machine.device) found.insert(one.batch);
  }
  return {found.begin(), found.end()};
}

ScenarioFile PlannedJob::scenario(const Machine& machine, std::uint32_t nodes,
                                  const std::vector<ScenarioFile::Setting>& settings) const {
  const std::uint64_t gpus = std::uint64_t{nodes} * machine.gpus_per_node;
  std::map<std::string, Field> sections{
      {"name", parts->name},
      {"workload", parts->workload},
      {"workload.device", *machine.device_field},
      {"cluster", *machine.cluster},
      {"gpus", value_in(*machine.cluster, "gpus", std::to_string(gpus))},
      {"simulation.fidelity", value_in(parts->name, "simulation.fidelity", "folded")}};
  if (parts->training) sections.emplace("training", *parts->training);
  if (parts->measured_on) sections.emplace("workload.measured_on", *parts->measured_on);
  std::vector<ScenarioFile::Setting> all = parts->settings;
  all.insert(all.end(), settings.begin(), settings.end());
  return ScenarioFile::of_sections(path, sections, all);
}

}  // namespace paceline
