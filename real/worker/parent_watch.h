#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "models/units/units.h"

namespace paceline::real {

// Looks after whoever started this process, which may be stopped (SIGSTOP, Ctrl-Z) while other
// ranks wait for what it asks next: calls `on_stopped`, in a thread of its own, once it has been
// stopped for so long at a stretch.
class ParentWatch {
 public:
  ParentWatch(Seconds stopped_max, std::function<void()> on_stopped);
  ParentWatch(const ParentWatch&) = delete;
  ParentWatch& operator=(const ParentWatch&) = delete;
  ~ParentWatch();

 private:
  void watch(Seconds stopped_max, const std::function<void()>& on_stopped);

  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace paceline::real
