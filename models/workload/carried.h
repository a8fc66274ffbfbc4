#pragma once

#include <array>
#include <span>
#include <string>

#include "models/workload/attained.h"

namespace paceline::workload {

// What measured steps of other devices, precisions or sequences say of a modelled step of the same
// network.
//
// The logarithm of measured over modelled is a sum of independent errors: each quantity's
// (attained.h), times how much of the step goes with it; the host's; the code's own
// (source_spread); and the row's (row_spread). Quantities and code are the same wherever a step
// ran. Steps of one device share its host, as they are taken for one machine's; those of different
// devices do not. Rows share nothing, and those of one device and precision weigh as one, as where
// the quantities were learnt. So a step is expected off by covariance / variance x what others were
// off by, and is as much surer (the conditional of a joint normal distribution).

// The errors of one step: standard deviations, signed as the step moves with them.
struct StepErrors {
  std::string device;  // a name
  Precision precision = Precision::fp32;
  std::array<double, quantities> of_quantities{};
  double of_host = 0;
};
[[nodiscard]] StepErrors step_errors(const OneGpu& run);

struct KnownStep {
  StepErrors errors;
  double log_apart = 0;  // the logarithm of measured over modelled
};

struct CarriedOver {
  double factor = 1;  // of the modelled step
  double spread = 0;  // the standard deviation of the logarithm of what a step then is off by
};
// A step of the target's device and precision is of its row, as one with other sequences is. Of no
// steps: what one_gpu_spread has, and a factor of 1.
[[nodiscard]] CarriedOver carry_over(std::span<const KnownStep> steps, const StepErrors& target);

}  // namespace paceline::workload
