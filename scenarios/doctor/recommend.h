#pragma once

#include <string>
#include <vector>

#include "scenarios/doctor/doctor.h"

namespace paceline::doctor {

struct Recommendation {
  std::string when;     // what is to be measured
  std::string backend;  // empty: nothing here does it
  std::string why;
};

// What practitioners choose: NCCL for GPUs with a process each, from 2.5 on (earlier ones lack the
// tuning of algorithms by size; this backend needs 2.14 for calls that do not block); Gloo for
// ranks on CPUs, for several processes on one GPU, which NCCL refuses, and where NCCL fails; MPI
// where a supercomputer brings its own.
[[nodiscard]] std::vector<Recommendation> recommend(const Examination& machine);

}  // namespace paceline::doctor
