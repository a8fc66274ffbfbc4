// What our programs use of the CUDA runtime (the functions that real/cuda, real/cuda_local and
// real/nccl call, and those that nvcc's code calls), on devices that are not there.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/device_stand_in/device.h"
#include "tests/device_stand_in/kernels.h"
#include "tests/device_stand_in/settings.h"

namespace paceline::stand_in {
namespace {

constexpr int driver_version = 13000;

thread_local cudaError_t last_error = cudaSuccess;

// What the API returns; a failure also is the thread's last error.
cudaError_t result(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

// What a device that failed answers to everything.
cudaError_t usable(cudaError_t otherwise = cudaSuccess) {
  const cudaError_t lasting = lasting_error(current_device());
  return result(lasting != cudaSuccess ? lasting : otherwise);
}

using Moment = std::shared_ptr<std::atomic<std::int64_t>>;

struct EventState {
  int device;
  bool has_time;
  Point point;  // null: never recorded
  Moment when;  // of events with a time: when the stream came to the point, in ns
};

// When the stream comes to what it gets next.
Moment moment_at_end(cudaStream_t stream) {
  auto moment = std::make_shared<std::atomic<std::int64_t>>(0);
  enqueue(stream, [moment] {
    moment->store(std::chrono::steady_clock::now().time_since_epoch() /
                  std::chrono::nanoseconds(1));
  });
  return moment;
}

struct State {
  std::mutex mutex;
  std::map<const void*, std::string> kernels;  // by the host's function
  std::set<std::pair<const void*, int>> loaded;
  std::map<cudaEvent_t, EventState> events;
};

State& state() {
  static auto& one = *new State;
  return one;
}

EventState event_of(cudaEvent_t event) {
  const std::lock_guard lock(state().mutex);
  const auto found = state().events.find(event);
  if (found == state().events.end()) misused("an event is used that was destroyed");
  return found->second;
}

// The first use of a kernel waits for everything that runs on the device (Programming Guide, Lazy
// Loading).
void load(const void* function) {
  {
    const std::lock_guard lock(state().mutex);
    if (!state().loaded.emplace(function, current_device()).second) return;
  }
  wait_for_device(current_device());
}

struct Configuration {
  dim3 grid, block;
  cudaStream_t stream;
};
thread_local std::vector<Configuration> configurations;

cudaError_t launch(const void* function, dim3 grid, dim3 block, void** arguments,
                   cudaStream_t stream) {
  if (const auto wrong = usable(); wrong != cudaSuccess) return wrong;
  if (is_at_fault("launch")) return result(cudaErrorLaunchOutOfResources);
  if (device_of_stream(stream) != current_device()) return result(cudaErrorInvalidResourceHandle);
  if (grid.x == 0 || block.x == 0 || block.x > 1024) return result(cudaErrorInvalidConfiguration);
  std::string name;
  {
    const std::lock_guard lock(state().mutex);
    name = state().kernels[function];
  }
  load(function);
  const int device = current_device();
  auto work = kernel_on_host(name, device, grid, block, arguments);
  if (!work) misused("no host version of the kernel " + name);
  if (is_at_fault("kernel")) work = [device] { set_lasting_error(device, cudaErrorLaunchFailure); };
  enqueue(stream, std::move(work));
  return cudaSuccess;
}

// Both ends of a copy within or between devices; null where one is not what it is said to be.
struct Ends {
  std::byte* to;
  const std::byte* from;

  [[nodiscard]] bool are_there() const { return to != nullptr && from != nullptr; }
};

cudaError_t copy_later(Ends ends, std::size_t bytes, cudaStream_t stream) {
  if (!ends.are_there()) return result(cudaErrorInvalidValue);
  enqueue(stream, [=] { std::memcpy(ends.to, ends.from, bytes); });
  return cudaSuccess;
}

}  // namespace
}  // namespace paceline::stand_in

using namespace paceline::stand_in;

extern "C" {

cudaError_t CUDARTAPI cudaGetDeviceCount(int* count) {
  *count = settings().devices;
  return result(*count == 0 ? cudaErrorNoDevice : cudaSuccess);
}

cudaError_t CUDARTAPI cudaSetDevice(int device) {
  if (device < 0 || device >= settings().devices) return result(cudaErrorInvalidDevice);
  set_current_device(device);
  return usable();
}

cudaError_t CUDARTAPI cudaDriverGetVersion(int* version) {
  *version = driver_version;
  return cudaSuccess;
}

cudaError_t CUDARTAPI cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t CUDARTAPI cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (device < 0 || device >= settings().devices) return result(cudaErrorInvalidDevice);
  if (is_at_fault("properties")) return result(cudaErrorUnknown);
  *properties = cudaDeviceProp{};
  std::snprintf(properties->name, sizeof properties->name, "device stand-in");
  properties->totalGlobalMem = std::size_t{16} << 30;
  properties->major = 9;
  return cudaSuccess;
}

cudaError_t CUDARTAPI cudaDeviceGetPCIBusId(char* text, int length, int device) {
  if (device < 0 || device >= settings().devices) return result(cudaErrorInvalidDevice);
  if (is_at_fault("pci")) return result(cudaErrorUnknown);
  std::snprintf(text, static_cast<std::size_t>(length), "0000:%02x:00.0", device + 1);
  return cudaSuccess;
}

const char* CUDARTAPI cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess: return "no error";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorNoDevice: return "no CUDA-capable device is detected";
    case cudaErrorLaunchOutOfResources: return "too many resources requested for launch";
    case cudaErrorLaunchFailure: return "unspecified launch failure";
    case cudaErrorIllegalAddress: return "an illegal memory access was encountered";
    case cudaErrorMisalignedAddress: return "misaligned address";
    case cudaErrorInvalidValue: return "invalid argument";
    case cudaErrorInvalidDevice: return "invalid device ordinal";
    case cudaErrorInvalidResourceHandle: return "invalid resource handle";
    case cudaErrorInvalidConfiguration: return "invalid configuration argument";
    default: return "unknown error";
  }
}

cudaError_t CUDARTAPI cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }

cudaError_t CUDARTAPI cudaMalloc(void** memory, std::size_t bytes) {
  if (const auto wrong = usable(); wrong != cudaSuccess) return wrong;
  if (is_at_fault("malloc")) return result(cudaErrorMemoryAllocation);
  *memory = Memory::allocate(current_device(), bytes);
  return cudaSuccess;
}

cudaError_t CUDARTAPI cudaFree(void* memory) {
  if (memory == nullptr) return usable();
  const int device = Memory::device_of(memory);
  if (device < 0) return result(cudaErrorInvalidValue);
  wait_for_device(device);
  return result(Memory::free(memory) ? cudaSuccess : cudaErrorInvalidValue);
}

// Of the device's memory: the host does not wait for it.
cudaError_t CUDARTAPI cudaMemset(void* memory, int value, std::size_t bytes) {
  if (const auto wrong = usable(); wrong != cudaSuccess) return wrong;
  std::byte* const at = Memory::resolve(current_device(), memory, bytes);
  if (at == nullptr) return result(cudaErrorInvalidValue);
  enqueue(cudaStreamLegacy, [=] { std::memset(at, value, bytes); });
  return cudaSuccess;
}

// From pageable memory it returns once that has been read; to it, once it has been written.
cudaError_t CUDARTAPI cudaMemcpy(void* to, const void* from, std::size_t bytes,
                                 cudaMemcpyKind kind) {
  if (const auto wrong = usable(); wrong != cudaSuccess) return wrong;
  if (is_at_fault("memcpy")) return result(cudaErrorUnknown);
  const int device = current_device();
  if (kind == cudaMemcpyHostToDevice) {
    std::byte* const at = Memory::resolve(device, to, bytes);
    if (at == nullptr) return result(cudaErrorInvalidValue);
    const auto* const host = static_cast<const std::byte*>(from);
    enqueue(cudaStreamLegacy, [at, staged = std::vector<std::byte>(host, host + bytes)] {
      std::memcpy(at, staged.data(), staged.size());
    });
    return cudaSuccess;
  }
  if (kind != cudaMemcpyDeviceToHost) return result(cudaErrorInvalidValue);
  const std::byte* const at = Memory::resolve(device, from, bytes);
  if (at == nullptr) return result(cudaErrorInvalidValue);
  enqueue(cudaStreamLegacy, [=] { std::memcpy(to, at, bytes); });
  wait_for(point_at_end(cudaStreamLegacy));
  return cudaSuccess;
}

cudaError_t CUDARTAPI cudaMemcpyAsync(void* to, const void* from, std::size_t bytes,
                                      cudaMemcpyKind kind, cudaStream_t stream) {
  if (const auto wrong = usable(); wrong != cudaSuccess) return wrong;
  if (kind != cudaMemcpyDeviceToDevice) return result(cudaErrorInvalidValue);
  const int device = current_device();
  return copy_later({Memory::resolve(device, to, bytes), Memory::resolve(device, from, bytes)},
                    bytes, stream);
}

cudaError_t CUDARTAPI cudaMemcpyPeerAsync(void* to, int to_device, const void* from,
                                          int from_device, std::size_t bytes, cudaStream_t stream) {
  if (const auto wrong = usable(); wrong != cudaSuccess) return wrong;
  if (is_at_fault("peer")) return result(cudaErrorInvalidDevice);
  return copy_later(
      {Memory::resolve(to_device, to, bytes), Memory::resolve(from_device, from, bytes)}, bytes,
      stream);
}

cudaError_t CUDARTAPI cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  if (const auto wrong = usable(); wrong != cudaSuccess) return wrong;
  if (flags != cudaStreamNonBlocking) misused("streams that wait for the legacy one are not here");
  if (is_at_fault("stream")) return result(cudaErrorMemoryAllocation);
  *stream = make_stream();
  return cudaSuccess;
}

cudaError_t CUDARTAPI cudaStreamDestroy(cudaStream_t stream) {
  drop_stream(stream);
  return usable();
}

cudaError_t CUDARTAPI cudaStreamSynchronize(cudaStream_t stream) {
  wait_for(point_at_end(stream));
  return usable();
}

cudaError_t CUDARTAPI cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  if (const auto wrong = usable(); wrong != cudaSuccess) return wrong;
  if (const Point point = event_of(event).point) enqueue(stream, [point] { wait_for(point); });
  return cudaSuccess;
}

cudaError_t CUDARTAPI cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  if (const auto wrong = usable(); wrong != cudaSuccess) return wrong;
  if (is_at_fault("event")) return result(cudaErrorMemoryAllocation);
  static std::uintptr_t made = 0;
  const std::lock_guard lock(state().mutex);
  *event = reinterpret_cast<cudaEvent_t>(++made);
  state().events[*event] = {current_device(), (flags & cudaEventDisableTiming) == 0, nullptr,
                            nullptr};
  return cudaSuccess;
}

cudaError_t CUDARTAPI cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  if (const auto wrong = usable(); wrong != cudaSuccess) return wrong;
  if (is_at_fault("record")) return result(cudaErrorUnknown);
  EventState one = event_of(event);
  if (one.device != device_of_stream(stream)) return result(cudaErrorInvalidResourceHandle);
  if (one.has_time) one.when = moment_at_end(stream);
  one.point = point_at_end(stream);
  const std::lock_guard lock(state().mutex);
  state().events[event] = std::move(one);
  return cudaSuccess;
}

cudaError_t CUDARTAPI cudaEventQuery(cudaEvent_t event) {
  const EventState one = event_of(event);
  const cudaError_t lasting = lasting_error(one.device);
  if (lasting != cudaSuccess) return result(lasting);
  const bool done = one.point == nullptr || one.point->load(std::memory_order_acquire);
  return done ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t CUDARTAPI cudaEventElapsedTime(float* milliseconds, cudaEvent_t start,
                                           cudaEvent_t end) {
  const EventState from = event_of(start), to = event_of(end);
  if (!from.when || !to.when) return result(cudaErrorInvalidResourceHandle);
  if (!from.point->load() || !to.point->load()) return result(cudaErrorNotReady);
  if (is_at_fault("elapsed")) return result(cudaErrorUnknown);
  *milliseconds = static_cast<float>(to.when->load() - from.when->load()) * 1e-6F;
  return cudaSuccess;
}

cudaError_t CUDARTAPI cudaEventDestroy(cudaEvent_t event) {
  const std::lock_guard lock(state().mutex);
  state().events.erase(event);
  return cudaSuccess;
}

cudaError_t CUDARTAPI cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
  if (const auto wrong = usable(); wrong != cudaSuccess) return wrong;
  if (is_at_fault("load")) return result(cudaErrorNoKernelImageForDevice);
  *attributes = cudaFuncAttributes{};
  load(function);
  return cudaSuccess;
}

// What nvcc makes of the definition and the launch of a kernel.

void** CUDARTAPI __cudaRegisterFatBinary(void* binary) { return static_cast<void**>(binary); }
void CUDARTAPI __cudaRegisterFatBinaryEnd(void** /*binary*/) {}
void CUDARTAPI __cudaUnregisterFatBinary(void** /*binary*/) {}
char CUDARTAPI __cudaInitModule(void** /*binary*/) { return 0; }  // of managed variables

void CUDARTAPI __cudaRegisterFunction(void** /*binary*/, const char* function, char* /*device*/,
                                      const char* name, int, uint3*, uint3*, dim3*, dim3*, int*) {
  const std::lock_guard lock(state().mutex);
  state().kernels[function] = name;
}

unsigned CUDARTAPI __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t /*shared*/,
                                               CUstream_st* stream) {
  configurations.push_back({grid, block, stream});
  return 0;
}

cudaError_t CUDARTAPI __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared,
                                                 void* stream) {
  if (configurations.empty()) misused("a kernel is launched without a grid");
  const Configuration last = configurations.back();
  configurations.pop_back();
  *grid = last.grid;
  *block = last.block;
  *shared = 0;
  *static_cast<cudaStream_t*>(stream) = last.stream;
  return cudaSuccess;
}

cudaError_t CUDARTAPI __cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  *kernel = static_cast<cudaKernel_t>(const_cast<void*>(function));
  return cudaSuccess;
}

cudaError_t CUDARTAPI __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block,
                                         void** arguments, std::size_t /*shared*/,
                                         cudaStream_t stream) {
  return launch(kernel, grid, block, arguments, stream);
}

// Until CUDA 12 nvcc's code launches so.
cudaError_t CUDARTAPI cudaLaunchKernel(const void* function, dim3 grid, dim3 block,
                                       void** arguments, std::size_t /*shared*/,
                                       cudaStream_t stream) {
  return launch(function, grid, block, arguments, stream);
}

}  // extern "C"
