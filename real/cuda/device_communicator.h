#pragma once

#include <cuda_runtime_api.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "real/backend.h"

namespace paceline::real::cuda {

// Whose call of the CUDA runtime failed.
struct Owner {
  std::string_view backend;
  Rank rank;
};

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

// A point in the work of a stream, on the device that is current when it is made.
class Mark {
 public:
  // At the end of what the stream has by now. `flags` are cudaEventCreateWithFlags's.
  Mark(const Owner& owner, cudaStream_t stream, unsigned flags = cudaEventDisableTiming);
  Mark(const Mark&) = delete;
  Mark& operator=(const Mark&) = delete;
  ~Mark();

  [[nodiscard]] cudaEvent_t event() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};
using MarkPtr = std::shared_ptr<Mark>;

class DeviceBuffer : public Buffer {
 public:
  DeviceBuffer(const Owner& owner, int device, DataType type, ElementCount count);
  ~DeviceBuffer() override;

  [[nodiscard]] int device() const { return device_; }
  // Where the element is. Precondition: it is inside, or the end.
  [[nodiscard]] std::byte* at(ElementCount element);
  [[nodiscard]] const std::byte* at(ElementCount element) const;

 private:
  void do_write(std::size_t first_byte, std::span<const std::byte> host) override;
  void do_read(std::size_t first_byte, std::span<std::byte> host) const override;

  Owner owner_;
  int device_;
  std::byte* memory_ = nullptr;
};

// What the backends of GPU ranks have in common: one device each, memory, streams, sums, set
// durations. In order: a Stream is one of CUDA's from its first use until it is finished.
class DeviceCommunicator : public Communicator {
 public:
  // `backend` outlives the communicator.
  DeviceCommunicator(const ConnectRequest& request, std::string_view backend, int device);
  ~DeviceCommunicator() override;

 protected:
  [[nodiscard]] const Owner& owner() const { return owner_; }
  [[nodiscard]] Seconds timeout() const { return timeout_; }
  [[nodiscard]] int device() const { return device_; }
  // Makes the rank's device the calling thread's, which every thread must do that uses it.
  void use_device() const;
  // Also makes the device current.
  [[nodiscard]] cudaStream_t stream_of(Stream stream);
  [[nodiscard]] cudaStream_t new_stream();  // destroyed with the communicator
  [[nodiscard]] EventPtr event_at(MarkPtr mark, std::string_view call);
  // Returns when the stream has come to the mark; throws BackendError after the timeout.
  void wait_for(const Mark& mark, std::string_view call);
  [[nodiscard]] std::unique_ptr<DeviceTimer> timer_on(cudaStream_t stream);

  // Precondition: the buffer came from such a communicator's allocate().
  [[nodiscard]] static auto& on_device(auto& buffer) { return own_buffer<DeviceBuffer>(buffer); }

 private:
  friend class DeviceEvent;
  friend class StreamTimer;

  // What is wrong with the group, asked again and again while a thread waits; empty: nothing.
  virtual std::string trouble() { return ""; }
  // Ends what is in flight as well as possible, then throws BackendError.
  [[noreturn]] virtual void fail(std::string_view call, const std::string& message);
  // The stream of that number is finished; it may be another's next.
  virtual void finished(Stream /*stream*/) {}

  std::unique_ptr<Buffer> allocate(DataType type, ElementCount count) final;
  void do_put(Arrival how, Buffer& to, ElementRange range, const Buffer& from, ElementCount begin,
              Stream stream) final;
  bool in_order() const final { return true; }
  void do_finish(Stream stream) final;
  Bytes piece() const final;
  EventPtr do_compute(Seconds start, Seconds duration) final;

  Owner owner_;
  Seconds timeout_;
  int device_;
  std::mutex mutex_;
  std::vector<cudaStream_t> all_streams_;
  std::vector<cudaStream_t> free_streams_;
  std::map<Stream, cudaStream_t> streams_;  // of those that are not finished
  cudaStream_t compute_ = nullptr;
};

}  // namespace paceline::real::cuda
