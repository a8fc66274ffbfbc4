#include "real/cuda/device.h"

#include <array>

#include "real/errors.h"

namespace paceline::real::cuda {
namespace {

// 13000 is 13.0.
std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string describe(int device) {
  const std::string line = "device " + std::to_string(device) + ": ";
  cudaDeviceProp properties{};
  const cudaError_t result = cudaGetDeviceProperties(&properties, device);
  if (result != cudaSuccess) return line + cudaGetErrorString(result);
  return line + properties.name + ", " + std::to_string(properties.totalGlobalMem >> 20) +
         " MiB, compute capability " + std::to_string(properties.major) + "." +
         std::to_string(properties.minor);
}

}  // namespace

void check(const Owner& owner, std::string_view call, cudaError_t result) {
  if (result == cudaSuccess) return;
  throw BackendError(std::string(owner.backend), owner.rank, std::string(call),
                     cudaGetErrorString(result));
}

Devices find_devices() {
  Devices found;
  const cudaError_t result = cudaGetDeviceCount(&found.count);
  if (result != cudaSuccess) {
    (void)cudaGetLastError();  // else the next check of another call would report it
    found.count = 0;
    found.missing = std::string("no CUDA device: ") + cudaGetErrorString(result);
  } else if (found.count == 0) {
    found.missing = "no CUDA device";
  }
  int driver = 0;
  int runtime = 0;
  if (cudaDriverGetVersion(&driver) == cudaSuccess &&
      cudaRuntimeGetVersion(&runtime) == cudaSuccess) {
    found.notes.push_back("CUDA driver " + (driver == 0 ? "none" : version_text(driver)) +
                          ", runtime " + version_text(runtime));
  }
  for (int device = 0; device < found.count; ++device) found.notes.push_back(describe(device));
  return found;
}

std::string pci_address(const Owner& owner, int device) {
  std::array<char, 32> text{};  // a domain of 8 digits at most
  check(owner, "cudaDeviceGetPCIBusId",
        cudaDeviceGetPCIBusId(text.data(), static_cast<int>(text.size()), device));
  return text.data();
}

}  // namespace paceline::real::cuda
