#include "real/worker/parent_watch.h"

#include <unistd.h>

#include <chrono>
#include <fstream>
#include <string>
#include <utility>

namespace paceline::real {
namespace {

// "PID (name) STATE ...", where the name may hold anything (proc(5)).
bool is_stopped(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(file, text);
  const auto name_end = text.rfind(") ");
  return name_end != std::string::npos && text.substr(name_end + 2, 1) == "T";
}

}  // namespace

ParentWatch::ParentWatch(Seconds stopped_max, std::function<void()> on_stopped)
    : thread_([this, stopped_max, act = std::move(on_stopped)] { watch(stopped_max, act); }) {}

ParentWatch::~ParentWatch() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void ParentWatch::watch(Seconds stopped_max, const std::function<void()>& on_stopped) {
  constexpr std::chrono::milliseconds look(200);
  std::chrono::duration<double> stopped{0};
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, look, [&] { return is_over_; })) {
    if (is_stopped(::getppid())) {
      stopped += look;
    } else {
      stopped = {};
    }
    if (stopped.count() > stopped_max.value()) return on_stopped();
  }
}

}  // namespace paceline::real
