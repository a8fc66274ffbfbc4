#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/workload/workload.h"
#include "scenarios/loader/document/section.h"
#include "scenarios/loader/job/job.h"

namespace paceline {

// What was measured of the workload on one GPU, as the file has it.
struct MeasuredOnOneGpu {
  std::string device;  // as loader::device_named_by has it
  std::uint32_t batch = 0;
  std::optional<workload::Precision> precision;  // nullopt: the workload's
  loader::Field row;
};

struct PlannedJob::Parts {
  loader::Field name, workload;                 // of the file
  std::optional<loader::Field> training;        // likewise
  std::vector<ScenarioFile::Setting> settings;  // of these sections
  std::vector<MeasuredOnOneGpu> measured;
  // Of each device what scenarios say was measured on it, by the path of its key.
  std::map<std::string, std::map<std::string, loader::Field>> measured_on;
};

namespace loader {

// What scenarios say was measured on one GPU of a device, by the path of its key; empty: nothing.
[[nodiscard]] std::map<std::string, Field> sections_of_measured(
    const std::vector<MeasuredOnOneGpu>& measured, const std::string& device);

}  // namespace loader
}  // namespace paceline
