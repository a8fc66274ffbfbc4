#pragma once

#include "scenarios/loader/document/section.h"
#include "scenarios/loader/scenario.h"

// The sections of a scenario file that only load_scenario.cpp reads, a source file each, and the
// tables of their keys. All that read throw InputError.

namespace paceline::loader {

[[nodiscard]] std::span<const settings::Key> workload_keys();
[[nodiscard]] std::span<const settings::Key> ranks_keys();
[[nodiscard]] std::span<const settings::Key> other_jobs_keys();
[[nodiscard]] std::span<const settings::Key> simulation_keys();
[[nodiscard]] std::span<const settings::Key> real_keys();

// Its `training.wire_type` as well; a traced one fills `traced`.
void load_workload(Section& workload, const Overrides& overrides, Scenario& scenario);

// `single_gpu_throughput` is what was measured on one GPU; the modelled times keep their
// proportions. Precondition: the scenario has its training.
void rescale_to_measurement(Section& workload, bool optimizer_modelled, Scenario& scenario);

// Of a model whose compute no measurement gives. Precondition: the scenario has its workload.
void assume_unmeasured_speed(Section& workload, Scenario& scenario);

[[nodiscard]] RealSettings load_real(Section real);

// What is predicted where the scenario does not name a library: what is to be measured, if
// anything.
[[nodiscard]] cost::Library library_of(const RealSettings& real);

void load_ranks(Section ranks, Scenario& scenario);

[[nodiscard]] OtherJobs load_other_jobs(Section other_jobs);

// What the formulas leave out, and what would not fit. Precondition: the cluster has its size.
void check_other_jobs(const Section& other_jobs, const Scenario& scenario);

// The key `contention` of the file: auto, off, assumed, assumed+0.1, measured, or a factor.
[[nodiscard]] Contention load_contention(Section& file);

void load_simulation(Section simulation, Scenario& scenario);

}  // namespace paceline::loader
