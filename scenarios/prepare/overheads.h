#pragma once

#include "models/assumption.h"
#include "models/units/units.h"
#include "scenarios/loader/scenario.h"

namespace paceline {

// What makes steps of several GPUs longer than their dependencies do, where the scenario leaves it
// open. These numbers are what all sources of scenarios/library choose, and each source's others as
// well (tests/bench/left_out.sh); what they are worth is in scenarios/library/README.md.

// How many times as long NCCL's collectives take while a GPU computes: its kernels read and write
// memory beside others', and start when those leave room (contention.h, held_calls).
inline constexpr double gpu_call_contention = 1.2;

// Of what a GPU takes for its compute, from step to step and from GPU to GPU: the standard
// deviation as a part of the mean. A step waits for the slowest of its ranks. (Of the throughput of
// 20 like nodes of eight H100: 0.1 to 0.2 % of ResNet-50 and SSD, 1.7 % of BERT-Large, 6.9 % of
// Tacotron2.) It is more than GPUs differ by, and stands for what else grows with the number of
// ranks, as input and hosts.
inline constexpr double gpu_spread = 0.032;

// Whether they hold: on GPUs, that is with NCCL, with compute that was alone when it was timed:
// that of a trace of several ranks has both in it.
[[nodiscard]] bool has_gpu_overheads(const Scenario& scenario);

// The scenario's contention, or that of channels and memory traffic (contention.h); with `calls`.
[[nodiscard]] Contention contention_of(const Scenario& scenario);

// Of NCCL, between all GPUs of the scenario's cluster, about; 0 with other libraries or one GPU.
[[nodiscard]] double channels_of(const Scenario& scenario);

// How many times as long as the mean the slowest rank's compute takes, for the mean of many steps:
// 1 + spread * (expected maximum of as many draws of a standard normal distribution).
[[nodiscard]] double slowest_rank(const Scenario& scenario, Assumptions& assumptions);

}  // namespace paceline
