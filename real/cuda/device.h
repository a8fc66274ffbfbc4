#pragma once

#include <cuda_runtime_api.h>

#include <string>
#include <string_view>
#include <vector>

#include "models/units/units.h"

namespace paceline::real::cuda {

// Whose call of the CUDA runtime failed.
struct Owner {
  std::string_view backend;
  Rank rank;
};

// Throws BackendError unless the result is success.
void check(const Owner& owner, std::string_view call, cudaError_t result);

// The devices that this process sees.
struct Devices {
  int count = 0;
  std::string missing;             // why there is none, in one line; else empty
  std::vector<std::string> notes;  // versions of driver and runtime, then name and memory of each
};

[[nodiscard]] Devices find_devices();

// Where the device is plugged in, "0000:3b:00.0".
[[nodiscard]] std::string pci_address(const Owner& owner, int device);

}  // namespace paceline::real::cuda
