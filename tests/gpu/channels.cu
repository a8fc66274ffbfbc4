// What a ring all-reduce of NCCL's occupies on a GPU, without a peer: `channels` blocks of 544
// threads that add two arrays into a third at a set rate, 512 KiB at a time, and watch a flag
// in the GPU's memory between. A byte on the wire is two reads and a write here, as reduce-and-send
// is there.
//
// nvcc -O3 -arch=sm_90 -shared -Xcompiler -fPIC -o libchannels.so channels.cu
#include <cuda_runtime.h>

#include <cstdint>

namespace {

constexpr int threads = 544;
constexpr int unroll = 8;             // 16 bytes each; about the registers that NCCL's kernel has
constexpr int shared_bytes = 80'000;  // of about NCCL's 2.28 on Hopper
constexpr unsigned long long longest_ns = 5'000'000'000;  // nothing waits for it for ever
constexpr long long chunk_bytes = 512 << 10;

__device__ unsigned long long now_ns() {
  unsigned long long t;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
  return t;
}

__device__ void add(const float4* a, const float4* b, float4* c, int first) {
  float4 x[unroll], y[unroll];
#pragma unroll
  for (int u = 0; u < unroll; ++u) {
    const int i = min(first + u * threads, static_cast<int>(chunk_bytes / 16) - 1);
    x[u] = a[i];
    y[u] = b[i];
  }
#pragma unroll
  for (int u = 0; u < unroll; ++u) {
    const int i = min(first + u * threads, static_cast<int>(chunk_bytes / 16) - 1);
    c[i] = make_float4(x[u].x + y[u].x, x[u].y + y[u].y, x[u].z + y[u].z, x[u].w + y[u].w);
  }
}

// `rate`: bytes a nanosecond and block; 0: watches only; negative: as fast as it goes.
__global__ void ring(float4* arrays, long long bytes_a_block, double rate, const volatile int* stop,
                     unsigned long long* moved) {
  const long long per_array = bytes_a_block / 3 / chunk_bytes * chunk_bytes;
  char* const base = reinterpret_cast<char*>(arrays) + blockIdx.x * bytes_a_block;
  const unsigned long long begin = now_ns();
  unsigned long long done = 0;
  __shared__ int stopped;
  for (long long at = 0;; at = (at + chunk_bytes) % per_array) {
    if (threadIdx.x == 0) {
      while (!(stopped = *stop || now_ns() - begin > longest_ns) && rate >= 0 &&
             (rate == 0 || now_ns() - begin < static_cast<double>(done) / rate)) {
      }
    }
    __syncthreads();
    if (stopped) break;
    const auto* a = reinterpret_cast<const float4*>(base + at);
    const auto* b = reinterpret_cast<const float4*>(base + per_array + at);
    auto* c = reinterpret_cast<float4*>(base + 2 * per_array + at);
    for (int i = threadIdx.x; i < chunk_bytes / 16; i += threads * unroll) add(a, b, c, i);
    done += chunk_bytes;
    __syncthreads();
  }
  if (threadIdx.x == 0) moved[blockIdx.x] = done;
}

__global__ void stamp(unsigned long long* at) { *at = now_ns(); }

// When the last of the blocks began.
__global__ void arrive(unsigned long long* at) {
  if (threadIdx.x == 0) atomicMax(at, now_ns());
}

}  // namespace

extern "C" {
int channels_ring(void* arrays, long long bytes_a_block, int channels, double bytes_a_second,
                  const int* stop, unsigned long long* moved, void* stream) {
  cudaFuncSetAttribute(ring, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
  const double rate = bytes_a_second < 0 ? -1 : bytes_a_second / channels * 1e-9;
  ring<<<channels, threads, shared_bytes, static_cast<cudaStream_t>(stream)>>>(
      static_cast<float4*>(arrays), bytes_a_block, rate, stop, moved);
  return cudaGetLastError();
}
int channels_stamp(unsigned long long* at, void* stream) {
  stamp<<<1, 1, 0, static_cast<cudaStream_t>(stream)>>>(at);
  return cudaGetLastError();
}
int channels_arrive(unsigned long long* at, int channels, void* stream) {
  cudaFuncSetAttribute(arrive, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
  arrive<<<channels, threads, shared_bytes, static_cast<cudaStream_t>(stream)>>>(at);
  return cudaGetLastError();
}
}
