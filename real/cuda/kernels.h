#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "models/units/data_type.h"

// What runs on the device. Launches only; all pointers are the device's.
namespace paceline::real::cuda {

// to[i] += from[i], in the type's own precision: sums of 16-bit types are rounded after each.
[[nodiscard]] cudaError_t launch_add(DataType type, void* to, const void* from, ElementCount count,
                                     cudaStream_t stream);

// One warp that looks at the device's clock for so long. It takes one multiprocessor's issue slots
// now and then and no memory bandwidth: contention with real compute is no part of it. The clock
// ticks every 32 ns to 1 us, depending on the device.
[[nodiscard]] cudaError_t launch_spin(std::uint64_t duration_ns, cudaStream_t stream);

// Brings the kernels onto the current device. CUDA's first launch would, and may wait for kernels
// that wait for another rank (Programming Guide, Lazy Loading, Concurrent Kernel Execution).
[[nodiscard]] cudaError_t load_kernels();

}  // namespace paceline::real::cuda
