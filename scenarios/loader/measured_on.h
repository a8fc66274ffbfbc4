#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/loader/document/reader.h"
#include "scenarios/loader/scenario.h"

namespace paceline::loader {

// An entry of `workload.measured_on`: what one GPU of some device was measured to do.
struct MeasuredOn {
  Field entry;
  workload::Device device;
  workload::Precision precision = workload::Precision::fp32;
  std::uint32_t batch = 1;
  Field throughput;

  // Of the scenario's own device and precision, so that it is of its steps themselves.
  [[nodiscard]] bool is_own(const Scenario& scenario) const;
  // "740 samples/s on v100-sxm2-16gb", with the precision where that is another one.
  [[nodiscard]] std::string text(const Scenario& scenario) const;
};

// Throws InputError for devices that are not known or lack the arithmetic, for what is twice in the
// list, and for other devices of a scenario without a network, whose compute no description carries
// over. Precondition: the scenario has its workload.
[[nodiscard]] std::vector<MeasuredOn> read_measured_on(const Field& list, const Scenario& scenario);

}  // namespace paceline::loader
