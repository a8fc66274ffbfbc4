#pragma once

#include "scenarios/loader/document/section.h"
#include "scenarios/loader/scenario.h"

namespace paceline::loader {

// Fills the scenario's workload and `traced` from `workload.trace`, a file of profilers' or of
// paceline's own traces, relative to the folder of its document; and reads what else stands in a
// workload that has one. Throws InputError.
void load_trace(const Field& trace, Section& workload, Scenario& scenario);

// All throw InputError for what a trace cannot give.
// A strategy that reduces gradients, of a trace that does not tell them; `field` names it.
void check_traced_gradients(const Field& field, const Scenario& scenario);
// Of a section with a strategy that replays: what would change its program.
void check_traced_training(Section& training);
// Precondition: the cluster has its size.
void check_traced_ranks(const Section& workload, Scenario& scenario);

// Makes compute longer by a factor.
void scale_compute(training::StepProgram& program, double factor);

}  // namespace paceline::loader
