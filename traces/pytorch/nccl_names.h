#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "models/collectives/plan.h"
#include "traces/device_trace/device_trace.h"

// How traces name collectives and NCCL's kernels.
namespace paceline::traces::pytorch {

// Where a host call of a collective stands.
inline constexpr std::string_view recorded_call = "record_param_comms";
inline constexpr std::string_view annotated_call = "nccl:";

// allreduce, all_reduce, _allgather_base, reduce_scatter_tensor_coalesced, all_to_allv,
// AllReduce... nullopt for barriers, sends and whatever else is no Collective.
[[nodiscard]] std::optional<collectives::Collective> collective_of(std::string_view kind);

// Whether what a rank gives to it may be less than the whole buffer, so that it does not tell the
// size.
[[nodiscard]] bool takes_parts(collectives::Collective collective);

// A kernel of NCCL or RCCL.
[[nodiscard]] inline bool is_collective_kernel(std::string_view name) {
  return name.starts_with("nccl") || name.starts_with("rccl");
}

// What a kernel does: AllReduce of ncclDevKernel_AllReduce_Sum_f32_RING_LL; empty where its name
// does not tell.
[[nodiscard]] std::string_view kernel_kind(std::string_view name);

// RING_LL of ncclKernel_AllReduce_RING_LL_Sum_float(...).
[[nodiscard]] std::string algorithm_of(std::string_view name);

// Whether that kernel may be what that call runs. Either may be unknown.
[[nodiscard]] bool may_run(const TracedCollective& call, std::string_view kernel);

// Calls and kernels of one class are in one order: the kernel's kind that runs a call, lower case;
// empty when unknown.
[[nodiscard]] std::string kernel_class(const TracedCollective& call);
[[nodiscard]] std::string kernel_class(std::string_view kernel);

// Takes what the first lacks from the second.
void complete(TracedCollective& call, TracedCollective other);

}  // namespace paceline::traces::pytorch
