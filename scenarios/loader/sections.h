#pragma once

#include "scenarios/loader/document/reader.h"
#include "scenarios/loader/scenario.h"

// The sections of a scenario file that only load_scenario.cpp reads, a source file each. All throw
// InputError.

namespace paceline::loader {

// Its `training.wire_type` as well; a traced one fills `traced`.
void load_workload(Reader& workload, const Overrides& overrides, Scenario& scenario);

// `single_gpu_throughput` is what was measured on one GPU; the modelled times keep their
// proportions. Precondition: the scenario has its training.
void rescale_to_measurement(Reader& workload, bool optimizer_modelled, Scenario& scenario);

// Of a model whose compute no measurement gives. Precondition: the scenario has its workload.
void assume_unmeasured_speed(Reader& workload, Scenario& scenario);

[[nodiscard]] RealSettings load_real(Reader real);

// What is predicted where the scenario does not name a library: what is to be measured, if
// anything.
[[nodiscard]] cost::Library library_of(const RealSettings& real);

void load_ranks(Reader ranks, Scenario& scenario);

[[nodiscard]] OtherJobs load_other_jobs(Reader other_jobs);

// What the formulas leave out, and what would not fit. Precondition: the cluster has its size.
void check_other_jobs(const Reader& other_jobs, const Scenario& scenario);

// The key `contention` of the file: off, assumed, measured, or a factor.
[[nodiscard]] Contention load_contention(Reader& file);

void load_simulation(Reader simulation, Scenario& scenario);

}  // namespace paceline::loader
