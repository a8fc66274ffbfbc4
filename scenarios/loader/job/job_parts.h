#pragma once

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
  std::optional<loader::Field> measured_on;  // the list, as scenarios have it below their workload
};

}  // namespace paceline
