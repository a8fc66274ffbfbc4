#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <string>

namespace paceline::stand_in {

// A kernel of real/cuda as work for a stream's thread: a loop over blocks and threads of the very
// code, but for the clock of `spin`. `name` is what the compiler registered it by. Empty where
// there is no such kernel. The arguments are read at once.
[[nodiscard]] std::function<void()> kernel_on_host(const std::string& name, int device, dim3 grid,
                                                   dim3 block, void** arguments);

}  // namespace paceline::stand_in
