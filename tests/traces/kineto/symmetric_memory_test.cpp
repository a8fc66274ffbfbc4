// Collectives on symmetric memory, which no process group records.

#include <gtest/gtest.h>

#include <string>

#include "tests/traces/kineto/kineto_fixture.h"
#include "traces/learn/step_profile.h"

namespace paceline::traces {
namespace {

using collectives::Collective;
using test::kineto_fixture;

// A call at 2 ms, which the device runs from 7 to 9.4 ms; times count from the first event, at 1.
TEST(SymmetricMemory, AnAllReduceIsACollectiveAndNoCompute) {
  const DeviceTrace trace = read_kineto(kineto_fixture("symmetric_memory.json"));
  ASSERT_EQ(trace.collectives.size(), 3U);
  const TracedCollective& call = trace.collectives.front();
  EXPECT_EQ(call.kind, "multimem_all_reduce_");
  EXPECT_EQ(call.collective, Collective::all_reduce);
  EXPECT_EQ(call.algorithm, "multimem");
  EXPECT_EQ(call.called, 1'000'000);
  EXPECT_FALSE(call.count) << "no shapes are recorded";
  ASSERT_TRUE(call.device);
  EXPECT_EQ(call.device->start, 6'000'000);
  EXPECT_EQ(call.device->end, 8'400'000);
  for (const StepProfile& step : profile_steps(trace)) {
    EXPECT_NEAR(step.communication.value(), 2.4e-3, 1e-12) << step.name;
    EXPECT_NEAR(step.compute.value(), 5.8e-3, 1e-12) << step.name;
  }
}

std::string with_call(const std::string& name, const std::string& arguments,
                      const std::string& kernel) {
  return R"({"traceEvents": [
{"ph": "X", "cat": "cpu_op", "name": ")" +
         name + R"(", "ts": 10, "dur": 20, "tid": 1, "args": {"External id": 5)" + arguments +
         R"(}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 12, "dur": 2, "tid": 1,
 "args": {"correlation": 9, "External id": 5}},
{"ph": "X", "cat": "kernel", "name": ")" +
         kernel + R"(", "ts": 40, "dur": 30, "tid": 7, "args": {"stream": 7, "correlation": 9,
 "External id": 5}}]})";
}

// Tensors as their operators have them: in and out beside each other, a string and a number as
// nothing.
TEST(SymmetricMemory, CallsHaveTheSizeOfTheirLargestTensor) {
  const struct {
    const char *call, *dims, *types, *kernel;
    Collective collective;
    std::uint64_t count;
  } calls[] = {
      {"symm_mem::multimem_all_reduce_", "[[64, 16], [], []]", R"(["c10::BFloat16", "", ""])",
       "void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(c10::BFloat16*)",
       Collective::all_reduce, 1024},
      {"symm_mem::one_shot_all_reduce_out", "[[1024], [], [], [1024]]",
       R"(["c10::BFloat16", "", "", "c10::BFloat16"])",
       "void (anonymous namespace)::one_shot_all_reduce_kernel<c10::BFloat16, 16, 8, false>()",
       Collective::all_reduce, 1024},
      {"symm_mem::one_shot_all_reduce_copy", "[[4096], [1024], [], []]",
       R"(["c10::BFloat16", "c10::BFloat16", "", ""])",
       "void (anonymous namespace)::one_shot_all_reduce_kernel<c10::BFloat16, 16, 8, true>()",
       Collective::all_reduce, 1024},
      {"symm_mem::reduce_scatter_out", "[[1024], [], [], [128]]",
       R"(["c10::BFloat16", "", "", "c10::BFloat16"])",
       "void (anonymous namespace)::two_shot_all_reduce_kernel<c10::BFloat16, 16, 8, true>()",
       Collective::reduce_scatter, 1024},
      {"symm_mem::multimem_all_gather_out", "[[128], [], [1024]]",
       R"(["c10::BFloat16", "", "c10::BFloat16"])",
       "void (anonymous namespace)::multimem_all_gather_kernel<16>(char*)", Collective::all_gather,
       1024},
      {"symm_mem::all_to_all_vdev", "[[1024], [1024], [8], [16], []]",
       R"(["c10::BFloat16", "c10::BFloat16", "long int", "long int", ""])",
       "c10d::nvshmem_extension::allToAllV(void*, void*, long*, unsigned long, int, int)",
       Collective::all_to_all, 1024},
  };
  for (const auto& one : calls) {
    const DeviceTrace trace = read_kineto(with_call(
        one.call, std::string(R"(, "Input Dims": )") + one.dims + R"(, "Input type": )" + one.types,
        one.kernel));
    ASSERT_EQ(trace.collectives.size(), 1U) << one.call;
    const TracedCollective& call = trace.collectives.front();
    EXPECT_EQ(call.collective, one.collective) << one.call;
    EXPECT_EQ(call.count, ElementCount(one.count)) << one.call;
    EXPECT_EQ(call.element_size, ElementSize(2)) << one.call;
    EXPECT_TRUE(call.device) << one.call;
    EXPECT_TRUE(trace.tasks.empty()) << one.call;
  }
}

TEST(SymmetricMemory, WhatIsNoCollectiveByItselfIsNone) {
  for (const char* name : {"symm_mem::fused_all_gather_matmul", "symm_mem::stream_write_value32_",
                           "symm_mem::nvshmem_put", "symm_mem::_async_input_mm"}) {
    const DeviceTrace trace = read_kineto(with_call(name, "", "gemm"));
    EXPECT_TRUE(trace.collectives.empty()) << name;
    EXPECT_EQ(trace.tasks.size(), 1U) << name;
  }
}

}  // namespace
}  // namespace paceline::traces
