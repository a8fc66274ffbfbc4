#include "tests/device_stand_in/kernels.h"

#include <cxxabi.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <thread>

#include "tests/device_stand_in/device.h"

// What a device's compiler gives its code.
namespace {
thread_local dim3 gridDim, blockDim;
thread_local uint3 blockIdx, threadIdx;
}  // namespace

#include "real/cuda/kernel_code.h"

namespace paceline::stand_in {
namespace {

using real::cuda::Vector;

struct Launch {
  int device;
  dim3 grid, block;
  void** arguments;

  template <class Argument>
  [[nodiscard]] Argument argument(std::size_t index) const {
    return *static_cast<Argument*>(arguments[index]);
  }
};

// A kernel's error is the device's from when it runs.
std::function<void()> failing(int device, cudaError_t error) {
  return [=] { set_lasting_error(device, error); };
}

template <class Unit>
bool is_aligned(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) % alignof(Unit) == 0;
}

template <class Unit>
std::function<void()> add_on_host(const Launch& launch) {
  auto* const to = launch.argument<Unit*>(0);
  const auto* const from = launch.argument<const Unit*>(1);
  const auto count = launch.argument<std::uint64_t>(2);
  auto* const sums =
      reinterpret_cast<Unit*>(Memory::resolve(launch.device, to, count * sizeof(Unit)));
  const auto* const added =
      reinterpret_cast<const Unit*>(Memory::resolve(launch.device, from, count * sizeof(Unit)));
  if (sums == nullptr || added == nullptr) return failing(launch.device, cudaErrorIllegalAddress);
  if (!is_aligned<Unit>(to) || !is_aligned<Unit>(from)) {
    return failing(launch.device, cudaErrorMisalignedAddress);
  }
  return [=, grid = launch.grid, block = launch.block] {
    gridDim = grid;
    blockDim = block;
    for (blockIdx.x = 0; blockIdx.x < grid.x; ++blockIdx.x) {
      for (threadIdx.x = 0; threadIdx.x < block.x; ++threadIdx.x) {
        real::cuda::add_units<Unit>(sums, added, count);
      }
    }
  };
}

std::function<void()> spin_on_host(const Launch& launch) {
  const auto duration = std::chrono::nanoseconds(launch.argument<std::uint64_t>(0));
  return [duration] {
    const auto end = std::chrono::steady_clock::now() + duration;
    std::this_thread::sleep_until(end);
  };
}

using Maker = std::function<void()> (*)(const Launch&);

// By what the demangled name has behind the namespace.
const std::map<std::string, Maker>& makers() {
  static const std::map<std::string, Maker> all{
      {"spin", spin_on_host},
      {"add_units<float>", add_on_host<float>},
      {"add_units<double>", add_on_host<double>},
      {"add_units<__half>", add_on_host<__half>},
      {"add_units<__nv_bfloat16>", add_on_host<__nv_bfloat16>},
      {"add_units<int>", add_on_host<std::int32_t>},
      {"add_units<long>", add_on_host<std::int64_t>},
      {"add_units<Vector<float>>", add_on_host<Vector<float>>},
      {"add_units<Vector<double>>", add_on_host<Vector<double>>},
      {"add_units<Vector<__half>>", add_on_host<Vector<__half>>},
      {"add_units<Vector<__nv_bfloat16>>", add_on_host<Vector<__nv_bfloat16>>},
      {"add_units<Vector<int>>", add_on_host<Vector<std::int32_t>>},
      {"add_units<Vector<long>>", add_on_host<Vector<std::int64_t>>},
  };
  return all;
}

void erase_all(std::string& text, const std::string& part) {
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part)) {
    text.erase(at, part.size());
  }
}

// "void paceline::real::cuda::add_units<float>(float*, ...)" is add_units<float>.
std::string short_name(const std::string& mangled) {
  int status = 0;
  char* const demangled = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
  std::string name = demangled == nullptr ? mangled : demangled;
  std::free(demangled);  // NOLINT: the library's allocation
  erase_all(name, "void ");
  erase_all(name, "paceline::real::cuda::");
  erase_all(name, "(anonymous namespace)::");
  if (const auto end = name.find('('); end != std::string::npos) name.erase(end);
  erase_all(name, " ");
  if (const auto spin = name.rfind("::spin"); spin != std::string::npos) return "spin";
  return name;
}

}  // namespace

std::function<void()> kernel_on_host(const std::string& name, int device, dim3 grid, dim3 block,
                                     void** arguments) {
  const auto found = makers().find(short_name(name));
  if (found == makers().end()) return {};
  return found->second({device, grid, block, arguments});
}

}  // namespace paceline::stand_in
