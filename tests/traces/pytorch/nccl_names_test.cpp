#include "traces/pytorch/nccl_names.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace paceline::traces::pytorch {
namespace {

using collectives::Collective;

TEST(CollectiveNames, AreThoseOfAllReleases) {
  const std::pair<const char*, Collective> names[] = {
      {"allreduce", Collective::all_reduce},
      {"all_reduce", Collective::all_reduce},
      {"AllReduce", Collective::all_reduce},
      {"allreduce_coalesced", Collective::all_reduce},
      {"_allgather_base", Collective::all_gather},
      {"all_gather_into_tensor_coalesced", Collective::all_gather},
      {"reduce_scatter_tensor_coalesced", Collective::reduce_scatter},
      {"_reduce_scatter_base", Collective::reduce_scatter},
      {"broadcast", Collective::broadcast},
      {"_broadcast_oop", Collective::broadcast},
      {"reduce", Collective::reduce},
      {"_reduce_oop", Collective::reduce},
      {"all_to_allv", Collective::all_to_all},
      {"alltoall_base", Collective::all_to_all},
      {"scatter", Collective::scatter},
      {"gather", Collective::gather},
      {"multimem_all_reduce_", Collective::all_reduce},
      {"multimem_one_shot_all_reduce_out", Collective::all_reduce},
      {"two_shot_all_reduce_", Collective::all_reduce},
      {"multimem_one_shot_reduce_out", Collective::reduce},
      {"nvshmem_all_to_all", Collective::all_to_all},
      {"nccl_reduce_scatter_offset", Collective::reduce_scatter}};
  for (const auto& [name, collective] : names) EXPECT_EQ(collective_of(name), collective) << name;
  for (const char* none : {"", "wait", "barrier", "send 0->1", "recv"}) {
    EXPECT_FALSE(collective_of(none)) << none;
  }
}

TEST(KernelNames, TellKindAndAlgorithm) {
  struct Row {
    const char *name, *kind, *algorithm;
  };
  // NCCL 2.10 and 2.19; NVLS of 2.18, PAT of 2.23, CollNet; one kernel for all of 2.19 and RCCL.
  const Row rows[] = {
      {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long)", "AllReduce",
       "RING_LL"},
      {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "AllReduce",
       "RING_LL"},
      {"ncclDevKernel_AllReduce_Sum_bf16_TREE_LL128(ncclDevComm*)", "AllReduce", "TREE_LL128"},
      {"ncclDevKernel_AllReduce_Sum_f16_NVLS_TREE_SIMPLE", "AllReduce", "NVLS_TREE_SIMPLE"},
      {"ncclKernel_AllReduce_COLLNET_CHAIN_SIMPLE_Sum_half", "AllReduce", "COLLNET_CHAIN_SIMPLE"},
      {"ncclDevKernel_ReduceScatter_Sum_f32_PAT_SIMPLE", "ReduceScatter", "PAT_SIMPLE"},
      {"ncclSymkDevKernel_AllReduce_AGxLL_R_sum_f32(ncclSymkDevWorkArgs4K)", "AllReduce",
       "AGxLL_R"},
      {"ncclSymkDevKernel_ReduceScatter_RailA2A_LsaLD_avg_bf16_profile", "ReduceScatter",
       "RailA2A_LsaLD"},
      {"ncclSymkDevKernel_AllGather_LLMC(ncclSymkDevWorkArgs4K)", "AllGather", "LLMC"},
      {"ncclSymDevKernel_AllReduce_RSxLDMC_AGxSTMC_sum_f16", "AllReduce", "RSxLDMC_AGxSTMC"},
      {"void (anonymous namespace)::multimem_all_reduce_kernel<float>(float*, unsigned long)",
       "AllReduce", "multimem"},
      {"void <unnamed>::two_shot_all_reduce_kernel_inplace<c10::BFloat16, (int)16>(int*)",
       "AllReduce", "two_shot"},
      {"void (anonymous namespace)::multimem_one_shot_all_reduce_kernel<float, 16>(float*)",
       "AllReduce", "multimem_one_shot"},
      {"void c10d::intra_node_comm::oneShotAllReduceKernel<8u, false>(at::BFloat16*)", "AllReduce",
       "one_shot"},
      {"void vllm::cross_device_reduce_2stage<__nv_bfloat16, 8>(vllm::RankData*)", "AllReduce", ""},
      {"void alltoall_on_stream_kernel<char>(int, char*, char const*)", "AllToAll", ""},
      {"void rdxn_on_stream_kernel<float, 0>(int, float*)", "AllReduce", ""},
      {"barrier_on_stream_kernel_threadgroup(int, int)", "", ""},
      {"nvshmemi_proxy_something(int)", "", ""},
      {"ncclDevKernel_SendRecv(ncclDevComm*)", "SendRecv", ""},
      {"ncclDevKernel_Generic(ncclDevComm*)", "", ""},
      {"ncclDevKernel_Generic_4(ncclDevComm*)", "", ""},
      {"nccl", "", ""}};
  for (const Row& row : rows) {
    EXPECT_TRUE(is_collective_kernel(row.name));
    EXPECT_EQ(kernel_kind(row.name), row.kind) << row.name;
    EXPECT_EQ(algorithm_of(row.name), row.algorithm) << row.name;
  }
  EXPECT_TRUE(is_collective_kernel("rcclGenericKernel<4, false>"));
  for (const char* none :
       {"void at::native::nccl_like_kernel", "triton_poi_fused_all_gather_into_tensor_0",
        "void at::native::vectorized_elementwise_kernel<4, (anonymous namespace)::all_reduce_of>",
        "void cub::DeviceReduceKernel<cub::AllReduce>(float*)", "gemm"}) {
    EXPECT_FALSE(is_collective_kernel(none)) << none;
  }
}

TEST(KernelNames, TellWhatTheyMayRun) {
  TracedCollective call;
  for (const char* kernel : {"", "AllReduce", "SendRecv"}) EXPECT_TRUE(may_run(call, kernel));
  call.collective = Collective::all_to_all;
  EXPECT_TRUE(may_run(call, "SendRecv"));
  EXPECT_FALSE(may_run(call, "AllReduce"));
  call.collective = Collective::scatter;
  EXPECT_TRUE(may_run(call, "SendRecv"));
  EXPECT_FALSE(may_run(call, "ReduceScatter"));
  call.collective = Collective::gather;
  EXPECT_TRUE(may_run(call, "SendRecv"));
  EXPECT_FALSE(may_run(call, "AllGather"));
  call.collective = Collective::all_gather;
  for (const char* kernel : {"AllGather", "Broadcast", ""}) EXPECT_TRUE(may_run(call, kernel));
  EXPECT_FALSE(may_run(call, "Reduce"));
  call.collective = std::nullopt;
  call.kind = "send 0->1";
  EXPECT_TRUE(may_run(call, "SendRecv"));
  EXPECT_FALSE(may_run(call, "AllGather"));
}

}  // namespace
}  // namespace paceline::traces::pytorch
