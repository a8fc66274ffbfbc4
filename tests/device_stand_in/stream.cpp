#include <array>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "tests/device_stand_in/device.h"
#include "tests/device_stand_in/settings.h"
#include "tests/device_stand_in/unordered.h"

namespace paceline::stand_in {

class StreamQueue : public std::enable_shared_from_this<StreamQueue> {
 public:
  StreamQueue(int device, std::uint64_t number)
      : device_(device), random_(settings().seed * 1'000'003 + number) {}

  void start() {
    std::thread([self = shared_from_this()] { self->run(); }).detach();
  }
  [[nodiscard]] int device() const { return device_; }

  // False once it was closed and has done everything: nothing is left to wait for.
  bool push(std::function<void()> work) {
    auto next = std::make_unique<Work>();
    next->run = std::move(work);
    next->published.store(true, std::memory_order_release);
    const std::lock_guard lock(mutex_);
    if (ended_) return false;
    queue_.push_back(std::move(next));
    changed_.notify_one();
    return true;
  }
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_one();
  }

 private:
  struct Work {
    std::function<void()> run;
    std::atomic<bool> published = false;
  };

  std::unique_ptr<Work> next() {
    const Unordered by_this;
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return closed_ || !queue_.empty(); });
    ended_ = queue_.empty();
    if (ended_) return nullptr;
    auto work = std::move(queue_.front());
    queue_.pop_front();
    return work;
  }

  void run() {
    while (const auto work = next()) {
      (void)work->published.load(std::memory_order_acquire);
      be_late();
      work->run();
    }
  }

  // Most begin at once, some after up to 50 us, one in twenty after up to 0.4 ms.
  void be_late() {
    const auto drawn = random_() % 100;
    if (drawn < 60) return;
    const auto most = drawn < 95 ? 50U : 400U;
    std::this_thread::sleep_for(std::chrono::microseconds(random_() % most));
  }

  int device_;
  std::minstd_rand random_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::unique_ptr<Work>> queue_;
  bool closed_ = false;
  bool ended_ = false;  // its thread has
};

namespace {

using QueuePtr = std::shared_ptr<StreamQueue>;

struct Streams {
  std::mutex mutex;
  std::uint64_t made = 0;
  std::map<cudaStream_t, QueuePtr> open;
  std::map<int, QueuePtr> of_all;  // each device's, of what names no stream
};

Streams& streams() {
  static auto& all = *new Streams;  // threads of streams may outlive the end of main
  return all;
}

QueuePtr new_queue(int device) {
  auto made = std::make_shared<StreamQueue>(device, ++streams().made);
  made->start();
  return made;
}

QueuePtr find(cudaStream_t stream) {
  const std::lock_guard lock(streams().mutex);
  if (stream == nullptr || stream == cudaStreamLegacy) {
    QueuePtr& one = streams().of_all[current_device()];
    if (one == nullptr) one = new_queue(current_device());
    return one;
  }
  const auto found = streams().open.find(stream);
  if (found == streams().open.end()) misused("a stream is used that was destroyed");
  return found->second;
}

Point push_point(StreamQueue& queue) {
  auto point = std::make_shared<std::atomic<bool>>(false);
  const bool waits = queue.push([point] { point->store(true, std::memory_order_release); });
  if (!waits) point->store(true);
  return point;
}

thread_local int device_of_thread = 0;
std::array<std::atomic<cudaError_t>, 64> lasting_errors{};

}  // namespace

int current_device() { return device_of_thread; }
void set_current_device(int device) { device_of_thread = device; }

cudaError_t lasting_error(int device) {
  return lasting_errors.at(static_cast<std::size_t>(device));
}
void set_lasting_error(int device, cudaError_t error) {
  lasting_errors.at(static_cast<std::size_t>(device)) = error;
}

cudaStream_t make_stream() {
  const std::lock_guard lock(streams().mutex);
  QueuePtr queue = new_queue(current_device());
  const auto name = reinterpret_cast<cudaStream_t>(queue.get());
  streams().open[name] = std::move(queue);
  return name;
}

void drop_stream(cudaStream_t stream) {
  const QueuePtr queue = find(stream);
  queue->close();
  const std::lock_guard lock(streams().mutex);
  streams().open.erase(stream);
}

int device_of_stream(cudaStream_t stream) { return find(stream)->device(); }
void enqueue(cudaStream_t stream, std::function<void()> work) {
  (void)find(stream)->push(std::move(work));  // it is open, as it has a name
}
Point point_at_end(cudaStream_t stream) { return push_point(*find(stream)); }

void wait_for(const Point& point) {
  while (!point->load(std::memory_order_acquire)) {
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

void wait_for_device(int device) {
  std::vector<QueuePtr> all;
  {
    const std::lock_guard lock(streams().mutex);
    for (const auto& [name, queue] : streams().open) {
      if (queue->device() == device) all.push_back(queue);
    }
    if (const auto found = streams().of_all.find(device); found != streams().of_all.end()) {
      all.push_back(found->second);
    }
  }
  std::vector<Point> points;
  for (const QueuePtr& queue : all) points.push_back(push_point(*queue));
  for (const Point& point : points) wait_for(point);
}

}  // namespace paceline::stand_in
