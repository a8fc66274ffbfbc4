#include "real/cuda/device_communicator.h"

#include <array>
#include <cmath>
#include <thread>
#include <utility>

#include "models/contract.h"
#include "real/cuda/kernels.h"
#include "real/errors.h"

namespace paceline::real::cuda {

class DeviceEvent : public Event {
 public:
  DeviceEvent(DeviceCommunicator& communicator, MarkPtr mark, std::string_view call)
      : communicator_(communicator), mark_(std::move(mark)), call_(call) {}

 private:
  void do_wait() override { communicator_.wait_for(*mark_, call_); }

  DeviceCommunicator& communicator_;
  MarkPtr mark_;
  std::string_view call_;
};

// Between two points of a stream, by CUDA's events, whose times have a resolution of about 0.5 us.
class StreamTimer : public DeviceTimer {
 public:
  StreamTimer(DeviceCommunicator& communicator, cudaStream_t stream)
      : communicator_(communicator), stream_(stream) {}

  void start() override { start_ = mark(); }
  void stop() override { stop_ = mark(); }
  Seconds elapsed() const override {
    PACELINE_EXPECTS(start_ && stop_);
    communicator_.wait_for(*stop_, "wait");
    float milliseconds = 0;
    check(communicator_.owner(), "cudaEventElapsedTime",
          cudaEventElapsedTime(&milliseconds, start_->event(), stop_->event()));
    return Seconds(static_cast<double>(milliseconds) * 1e-3);
  }

 private:
  [[nodiscard]] MarkPtr mark() const {
    communicator_.use_device();
    return std::make_shared<Mark>(communicator_.owner(), stream_, cudaEventDefault);
  }

  DeviceCommunicator& communicator_;
  cudaStream_t stream_;
  MarkPtr start_, stop_;
};

namespace {

// Destructors cannot report, and what they would report has been by then.
void ignore(cudaError_t /*result*/) {}

// Copies of pageable memory may return before they are done; other streams do not wait for them.
void settle(const Owner& owner) {
  check(owner, "cudaStreamSynchronize", cudaStreamSynchronize(cudaStreamLegacy));
}

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

Mark::Mark(const Owner& owner, cudaStream_t stream, unsigned flags) {
  check(owner, "cudaEventCreateWithFlags", cudaEventCreateWithFlags(&event_, flags));
  const cudaError_t result = cudaEventRecord(event_, stream);
  if (result == cudaSuccess) return;
  ignore(cudaEventDestroy(event_));
  check(owner, "cudaEventRecord", result);
}

Mark::~Mark() { ignore(cudaEventDestroy(event_)); }

DeviceBuffer::DeviceBuffer(const Owner& owner, int device, DataType type, ElementCount count)
    : Buffer(type, count), owner_(owner), device_(device) {
  const Bytes size = count * element_size(type);
  if (size == Bytes(0)) return;
  check(owner_, "cudaSetDevice", cudaSetDevice(device_));
  void* memory = nullptr;
  check(owner_, "cudaMalloc", cudaMalloc(&memory, size.value()));
  memory_ = static_cast<std::byte*>(memory);
  check(owner_, "cudaMemset", cudaMemset(memory_, 0, size.value()));
  settle(owner_);
}

DeviceBuffer::~DeviceBuffer() { ignore(cudaFree(memory_)); }

std::byte* DeviceBuffer::at(ElementCount element) {
  return memory_ + (element * element_size(type())).value();
}

const std::byte* DeviceBuffer::at(ElementCount element) const {
  return memory_ + (element * element_size(type())).value();
}

void DeviceBuffer::do_write(std::size_t first_byte, std::span<const std::byte> host) {
  if (host.empty()) return;
  check(owner_, "cudaSetDevice", cudaSetDevice(device_));
  check(owner_, "cudaMemcpy",
        cudaMemcpy(memory_ + first_byte, host.data(), host.size(), cudaMemcpyHostToDevice));
  settle(owner_);
}

void DeviceBuffer::do_read(std::size_t first_byte, std::span<std::byte> host) const {
  if (host.empty()) return;
  check(owner_, "cudaSetDevice", cudaSetDevice(device_));
  check(owner_, "cudaMemcpy",
        cudaMemcpy(host.data(), memory_ + first_byte, host.size(), cudaMemcpyDeviceToHost));
}

DeviceCommunicator::DeviceCommunicator(const ConnectRequest& request, std::string_view backend,
                                       int device)
    : Communicator(request.rank, request.size),
      owner_{backend, request.rank},
      timeout_(request.timeout),
      device_(device) {
  use_device();
  check(owner_, "cudaFuncGetAttributes", load_kernels());
  compute_ = new_stream();
}

DeviceCommunicator::~DeviceCommunicator() {
  ignore(cudaSetDevice(device_));
  for (cudaStream_t stream : all_streams_) ignore(cudaStreamDestroy(stream));
}

void DeviceCommunicator::use_device() const {
  check(owner_, "cudaSetDevice", cudaSetDevice(device_));
}

cudaStream_t DeviceCommunicator::new_stream() {
  use_device();
  cudaStream_t made = nullptr;
  check(owner_, "cudaStreamCreateWithFlags",
        cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking));
  const std::lock_guard lock(mutex_);
  all_streams_.push_back(made);
  return made;
}

// Numbers in use never share a stream of CUDA: one might wait for what is behind the other.
cudaStream_t DeviceCommunicator::stream_of(Stream stream) {
  use_device();
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = streams_.find(stream); found != streams_.end()) return found->second;
    if (!free_streams_.empty()) {
      cudaStream_t taken = free_streams_.back();
      free_streams_.pop_back();
      streams_.emplace(stream, taken);
      return taken;
    }
  }
  cudaStream_t made = new_stream();  // this number is this thread's only
  const std::lock_guard lock(mutex_);
  streams_.emplace(stream, made);
  return made;
}

EventPtr DeviceCommunicator::event_at(MarkPtr mark, std::string_view call) {
  return std::make_unique<DeviceEvent>(*this, std::move(mark), call);
}

// Asking all the time rather than sleeping: a step is measured by when this returns. CUDA's own
// waits would neither end with the timeout nor see that another rank has failed.
void DeviceCommunicator::wait_for(const Mark& mark, std::string_view call) {
  const Seconds start = steady_now();
  while (true) {
    const cudaError_t result = cudaEventQuery(mark.event());
    if (result == cudaSuccess) return;
    if (result != cudaErrorNotReady) fail(call, cudaGetErrorString(result));
    if (const std::string wrong = trouble(); !wrong.empty()) fail(call, wrong);
    if (steady_now() - start > timeout_) {
      fail(call, "no end within " + std::to_string(timeout_.value()) + " s");
    }
    std::this_thread::yield();
  }
}

std::unique_ptr<DeviceTimer> DeviceCommunicator::timer_on(cudaStream_t stream) {
  return std::make_unique<StreamTimer>(*this, stream);
}

void DeviceCommunicator::fail(std::string_view call, const std::string& message) {
  throw BackendError(std::string(owner_.backend), rank(), std::string(call), message);
}

std::unique_ptr<Buffer> DeviceCommunicator::allocate(DataType type, ElementCount count) {
  return std::make_unique<DeviceBuffer>(owner_, device_, type, count);
}

void DeviceCommunicator::do_put(Arrival how, Buffer& to, ElementRange range, const Buffer& from,
                                ElementCount begin, Stream stream) {
  cudaStream_t on = stream_of(stream);
  std::byte* const into = on_device(to).at(range.begin);
  const std::byte* const arrived = on_device(from).at(begin);
  if (how == Arrival::reduce) {
    return check(owner_, "add", launch_add(to.type(), into, arrived, range.count, on));
  }
  const Bytes size = range.count * element_size(to.type());
  check(owner_, "cudaMemcpyAsync",
        cudaMemcpyAsync(into, arrived, size.value(), cudaMemcpyDeviceToDevice, on));
}

void DeviceCommunicator::do_finish(Stream stream) {
  use_device();
  cudaStream_t on = nullptr;
  {
    const std::lock_guard lock(mutex_);
    const auto found = streams_.find(stream);
    if (found == streams_.end()) return;  // nothing was done on it
    on = found->second;
  }
  wait_for(Mark(owner_, on), "finish");
  finished(stream);
  const std::lock_guard lock(mutex_);
  streams_.erase(stream);
  free_streams_.push_back(on);
}

// A stream adds one piece while the next is in flight only if they are on different streams, and
// the libraries cut their messages themselves: no message is as long.
Bytes DeviceCommunicator::piece() const { return Bytes(std::uint64_t{1} << 40); }

EventPtr DeviceCommunicator::do_compute(Seconds /*start*/, Seconds duration) {
  use_device();
  const auto nanoseconds = static_cast<std::uint64_t>(std::llround(duration.value() * 1e9));
  check(owner_, "spin", launch_spin(nanoseconds, compute_));
  return event_at(std::make_shared<Mark>(owner_, compute_), "compute");
}

}  // namespace paceline::real::cuda
