#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>

// Devices that are not there: what the stand-ins of the CUDA runtime and of NCCL share.
namespace paceline::stand_in {

// What a device's memory is to the host: addresses without access. `resolve` says where the bytes
// are for work that runs on the device; null where any of them is not memory of that device.
class Memory {
 public:
  // Zero bytes give null. The bytes are neither zero nor what another allocation left.
  [[nodiscard]] static void* allocate(int device, std::size_t bytes);
  // False where nothing was allocated there.
  [[nodiscard]] static bool free(void* address);
  [[nodiscard]] static std::byte* resolve(int device, const void* address, std::size_t bytes);
  // The device that has the address; -1: none.
  [[nodiscard]] static int device_of(const void* address);
};

// The device's error that is there to stay, as a kernel that failed leaves it.
[[nodiscard]] cudaError_t lasting_error(int device);
void set_lasting_error(int device, cudaError_t error);

[[nodiscard]] int current_device();
void set_current_device(int device);

// A point in a stream's work: done once everything before it is.
using Point = std::shared_ptr<std::atomic<bool>>;

// Work in order, in a thread of its own; each begins late, by the seed of the settings. What a
// thread of a stream did is seen by others only by way of a Point, so that ThreadSanitizer finds
// what is not ordered by one.
class StreamQueue;

// Makes a stream of the current device.
[[nodiscard]] cudaStream_t make_stream();
// What is in it still runs.
void drop_stream(cudaStream_t stream);
// Also of the stream of all that names none, which each device has one of.
[[nodiscard]] int device_of_stream(cudaStream_t stream);
void enqueue(cudaStream_t stream, std::function<void()> work);
[[nodiscard]] Point point_at_end(cudaStream_t stream);
void wait_for(const Point& point);
// Everything that all streams of the device have by now.
void wait_for_device(int device);

}  // namespace paceline::stand_in
