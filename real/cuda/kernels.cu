#include <algorithm>

#include "real/cuda/kernel_code.h"
#include "real/cuda/kernels.h"

namespace paceline::real::cuda {
namespace {

// Enough to keep any device's memory busy, few enough to launch cheaply; the loop does the rest.
constexpr unsigned threads_per_block = 256;
constexpr std::uint64_t blocks_max = 1024;

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
