#pragma once

#include "models/assumption.h"
#include "models/units/units.h"
#include "scenarios/loader/scenario.h"

namespace paceline {

// Two constants that make steps of several GPUs longer than their dependencies do, where the
// scenario leaves it open. They were fitted to all sources of scenarios/library; fits without any
// one source give the same values (tests/bench/left_out.sh). scenarios/library/README.md says what
// they are worth.

// NCCL's collectives take so many times as long while a GPU computes: their kernels share its
// memory, and start only when compute leaves room (contention.h, held_calls).
inline constexpr double gpu_call_contention = 1.2;

// The standard deviation of compute time between steps and GPUs, as a part of the mean: a step
// waits for its slowest rank. (Throughput of 20 equal nodes of eight H100 varies by 0.1 to 0.2 %
// with ResNet-50 and SSD, 1.7 % with BERT-Large, 6.9 % with Tacotron2.) It is larger than the
// spread of GPUs alone, and stands for all that grows with the number of ranks, such as input and
// hosts.
inline constexpr double gpu_spread = 0.032;

// Whether these hold: where ranks are GPUs, by NCCL or as sums in host memory, and for compute
// timed alone (traces of several ranks have both).
[[nodiscard]] bool has_gpu_overheads(const Scenario& scenario);

// The scenario's contention; where it is auto, that of channels and memory traffic (contention.h).
// Sets `calls`.
[[nodiscard]] Contention contention_of(const Scenario& scenario);

// About how many channels NCCL uses between all GPUs; 0 with other libraries or one GPU.
[[nodiscard]] double channels_of(const Scenario& scenario);

// The slowest rank's compute over the mean, averaged over many steps: 1 + spread * (expected
// maximum of as many standard normal draws).
[[nodiscard]] double slowest_rank(const Scenario& scenario, Assumptions& assumptions);

}  // namespace paceline
