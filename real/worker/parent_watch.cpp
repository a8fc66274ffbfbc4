#include "real/worker/parent_watch.h"

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <fstream>
#include <mutex>
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

std::jthread watch_parent(Seconds stopped_max, std::function<void()> on_stopped) {
  return std::jthread([stopped_max, act = std::move(on_stopped)](const std::stop_token& stop) {
    constexpr std::chrono::duration<double> look(0.2);
    Seconds stopped;
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    // Until it is asked to stop.
    while (!stop.stop_requested() && stopped <= stopped_max) {
      never.wait_for(lock, stop, look, [] { return false; });
      stopped = is_stopped(::getppid()) ? stopped + Seconds(look.count()) : Seconds(0);
    }
    if (!stop.stop_requested()) act();
  });
}

}  // namespace paceline::real
