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
// What calls of symmetric memory begin with: symm_mem::multimem_all_reduce_ (torch 2.5 and later,
// torch/csrc/distributed/c10d/symm_mem/SymmetricMemory.cpp). They go past process groups, so that
// nothing else records them.
inline constexpr std::string_view symmetric_call = "symm_mem::";

// allreduce, all_reduce, _allgather_base, reduce_scatter_tensor_coalesced, all_to_allv,
// AllReduce, multimem_all_reduce_, nvshmem_all_to_all... nullopt for barriers, sends and whatever
// else is no Collective.
[[nodiscard]] std::optional<collectives::Collective> collective_of(std::string_view kind);

// Whether what a rank gives to it may be less than the whole buffer, so that it does not tell the
// size.
[[nodiscard]] bool takes_parts(collectives::Collective collective);

// A kernel of NCCL or RCCL, NCCL's on symmetric memory among them (ncclSymkDevKernel_...; 2.27 has
// ncclSymDevKernel_...: src/device/symmetric/generate.py); or one that moves data between devices
// itself, which a function's own name tells: those of PyTorch's symmetric memory and its
// intra_node_comm.cu, of NVSHMEM (..._on_stream_kernel) and of engines with all-reduces of their
// own (cross_device_reduce_2stage). What compilers fuse (triton_...) is none: such names list all
// that a kernel came from.
[[nodiscard]] bool is_collective_kernel(std::string_view name);

// Whether a call of symmetric memory is a collective by itself: not what fuses one with a product,
// a put, or a write of a flag.
[[nodiscard]] bool is_symmetric_collective(std::string_view name);

// What a kernel does: AllReduce of ncclDevKernel_AllReduce_Sum_f32_RING_LL and of
// multimem_all_reduce_kernel<float>(float*, unsigned long); empty where its name does not tell.
[[nodiscard]] std::string_view kernel_kind(std::string_view name);

// RING_LL of ncclKernel_AllReduce_RING_LL_Sum_float(...), AGxLL_R of
// ncclSymkDevKernel_AllReduce_AGxLL_R_sum_f32(...), multimem of multimem_all_reduce_kernel.
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
