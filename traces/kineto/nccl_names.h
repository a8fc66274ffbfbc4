#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "models/collectives/plan.h"
#include "traces/device_trace/device_trace.h"
#include "traces/kineto/event.h"

// How traces name collectives and NCCL's kernels.
namespace paceline::traces::kineto {

// allreduce, all_reduce, _allgather_base, reduce_scatter_tensor_coalesced, all_to_allv,
// AllReduce... Nothing for barriers, sends and what else is no collective of ours.
[[nodiscard]] std::optional<collectives::Collective> collective_of(std::string_view kind);

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

// What the arguments of a call, or of its kernel, tell of it; times are left at 0.
[[nodiscard]] TracedCollective described(const Arguments& arguments);

// The same of "nccl:all_reduce" and its inputs.
[[nodiscard]] TracedCollective annotated(std::string_view name, const Arguments& arguments);

// Takes what the first does not tell from the second.
void complete(TracedCollective& call, TracedCollective other);

}  // namespace paceline::traces::kineto
