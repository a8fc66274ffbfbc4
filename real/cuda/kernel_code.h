#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

// What one thread of a device does. In a header, because tests run it on the host in a loop over
// blocks and threads (tests/device_stand_in/kernels.cpp), which declares blockIdx and the like
// before.
namespace paceline::real::cuda {

constexpr std::uint64_t vector_bytes = 16;

template <class Element>
struct alignas(vector_bytes) Vector {
  static constexpr unsigned length = vector_bytes / sizeof(Element);
  Element elements[length];
};

__device__ inline float sum(float a, float b) { return a + b; }
__device__ inline double sum(double a, double b) { return a + b; }
__device__ inline __half sum(__half a, __half b) { return __hadd(a, b); }
__device__ inline __nv_bfloat16 sum(__nv_bfloat16 a, __nv_bfloat16 b) { return __hadd(a, b); }
// By way of unsigned: sums wrap around, as the host's do.
__device__ inline std::int32_t sum(std::int32_t a, std::int32_t b) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
}
__device__ inline std::int64_t sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

template <class Element>
__device__ Vector<Element> sum(Vector<Element> a, const Vector<Element>& b) {
#pragma unroll
  for (unsigned i = 0; i < Vector<Element>::length; ++i) {
    a.elements[i] = sum(a.elements[i], b.elements[i]);
  }
  return a;
}

template <class Unit>
__global__ void add_units(Unit* to, const Unit* from, std::uint64_t count) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
       i += stride) {
    to[i] = sum(to[i], from[i]);
  }
}

}  // namespace paceline::real::cuda
