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
// Calls of symmetric memory: symm_mem::multimem_all_reduce_ (torch 2.5 and later,
// c10d/symm_mem/SymmetricMemory.cpp). They go past process groups: nothing else records them.
inline constexpr std::string_view symmetric_call = "symm_mem::";

// allreduce, all_reduce, _allgather_base, reduce_scatter_tensor_coalesced, all_to_allv, AllReduce,
// multimem_all_reduce_, nvshmem_all_to_all... nullopt for what is no Collective, as barriers and
// sends.
[[nodiscard]] std::optional<collectives::Collective> collective_of(std::string_view kind);

// Whether what a rank gives to it may be less than the whole buffer, and does not tell the size.
[[nodiscard]] bool takes_parts(collectives::Collective collective);

// A kernel of NCCL or RCCL, NCCL's on symmetric memory among them (ncclSymkDevKernel_...; 2.27:
// ncclSymDevKernel_...: src/device/symmetric/generate.py); or one that moves data between devices
// itself, by the function's own name: of PyTorch's symmetric memory and intra_node_comm.cu, NVSHMEM
// (..._on_stream_kernel) and engines' own all-reduces (cross_device_reduce_2stage). What compilers
// fuse (triton_...) is none: such names list all that a kernel came from.
[[nodiscard]] bool is_collective_kernel(std::string_view name);

// Whether a call of symmetric memory is a collective by itself: not one fused with a product, a
// put, or a write of a flag.
[[nodiscard]] bool is_symmetric_collective(std::string_view name);

// AllReduce of ncclDevKernel_AllReduce_Sum_f32_RING_LL and of
// multimem_all_reduce_kernel<float>(float*, unsigned long); empty where the name does not tell.
[[nodiscard]] std::string_view kernel_kind(std::string_view name);

// RING_LL of ncclKernel_AllReduce_RING_LL_Sum_float(...), multimem of multimem_all_reduce_kernel,
// AGxLL_R of ncclSymkDevKernel_AllReduce_AGxLL_R_sum_f32(...).
[[nodiscard]] std::string algorithm_of(std::string_view name);

// Either may be unknown.
[[nodiscard]] bool may_run(const TracedCollective& call, std::string_view kernel);

// Calls and kernels of one class are in one order: the kernel's kind in lower case; empty: unknown.
[[nodiscard]] std::string kernel_class(const TracedCollective& call);
[[nodiscard]] std::string kernel_class(std::string_view kernel);

// Takes what the first lacks from the second.
void complete(TracedCollective& call, TracedCollective other);

}  // namespace paceline::traces::pytorch
