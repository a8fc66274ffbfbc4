#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>

#include "real/cuda/kernels.h"

namespace paceline::real::cuda {
namespace {

// Enough to keep the memory of any device busy, and few enough blocks for a launch to be cheap;
// the loop strides over the rest.
constexpr unsigned threads_per_block = 256;
constexpr std::uint64_t blocks_max = 1024;

// The largest load and store that one thread issues.
constexpr std::uint64_t vector_bytes = 16;

template <class Element>
struct alignas(vector_bytes) Vector {
  static constexpr unsigned length = vector_bytes / sizeof(Element);
  Element elements[length];
};

__device__ float sum(float a, float b) { return a + b; }
__device__ double sum(double a, double b) { return a + b; }
__device__ __half sum(__half a, __half b) { return __hadd(a, b); }
__device__ __nv_bfloat16 sum(__nv_bfloat16 a, __nv_bfloat16 b) { return __hadd(a, b); }
// By way of unsigned: sums wrap around, as the host's do.
__device__ std::int32_t sum(std::int32_t a, std::int32_t b) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
}
__device__ std::int64_t sum(std::int64_t a, std::int64_t b) {
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

template <class Unit>
cudaError_t launch_units(void* to, const void* from, std::uint64_t count, cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  const std::uint64_t blocks = (count + threads_per_block - 1) / threads_per_block;
  add_units<<<static_cast<unsigned>(std::min(blocks, blocks_max)), threads_per_block, 0, stream>>>(
      static_cast<Unit*>(to), static_cast<const Unit*>(from), count);
  return cudaGetLastError();
}

bool is_aligned(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer) % vector_bytes == 0;
}

template <class Element>
cudaError_t launch_as(void* to, const void* from, std::uint64_t count, cudaStream_t stream) {
  if (!is_aligned(to) || !is_aligned(from)) return launch_units<Element>(to, from, count, stream);
  const std::uint64_t vectors = count / Vector<Element>::length;
  const cudaError_t result = launch_units<Vector<Element>>(to, from, vectors, stream);
  if (result != cudaSuccess) return result;
  const std::uint64_t done = vectors * Vector<Element>::length;
  return launch_units<Element>(static_cast<Element*>(to) + done,
                               static_cast<const Element*>(from) + done, count - done, stream);
}

__device__ std::uint64_t nanoseconds() {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

__global__ void spin(std::uint64_t duration_ns) {
  const std::uint64_t start = nanoseconds();
  while (nanoseconds() - start < duration_ns) {
  }
}

template <class Element>
cudaError_t load_as() {
  cudaFuncAttributes ignored;
  const cudaError_t result = cudaFuncGetAttributes(&ignored, add_units<Element>);
  if (result != cudaSuccess) return result;
  return cudaFuncGetAttributes(&ignored, add_units<Vector<Element>>);
}

}  // namespace

cudaError_t launch_add(DataType type, void* to, const void* from, ElementCount count,
                       cudaStream_t stream) {
  switch (type) {
    case DataType::float32: return launch_as<float>(to, from, count.value(), stream);
    case DataType::float16: return launch_as<__half>(to, from, count.value(), stream);
    case DataType::bfloat16: return launch_as<__nv_bfloat16>(to, from, count.value(), stream);
    case DataType::float64: return launch_as<double>(to, from, count.value(), stream);
    case DataType::int32: return launch_as<std::int32_t>(to, from, count.value(), stream);
    case DataType::int64: return launch_as<std::int64_t>(to, from, count.value(), stream);
  }
  return cudaErrorInvalidValue;
}

cudaError_t launch_spin(std::uint64_t duration_ns, cudaStream_t stream) {
  constexpr unsigned warp = 32;
  spin<<<1, warp, 0, stream>>>(duration_ns);
  return cudaGetLastError();
}

cudaError_t load_kernels() {
  cudaFuncAttributes ignored;
  for (const cudaError_t result :
       {load_as<float>(), load_as<__half>(), load_as<__nv_bfloat16>(), load_as<double>(),
        load_as<std::int32_t>(), load_as<std::int64_t>(), cudaFuncGetAttributes(&ignored, spin)}) {
    if (result != cudaSuccess) return result;
  }
  return cudaSuccess;
}

}  // namespace paceline::real::cuda
