#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <thread>

#include "scenarios/process/progress.h"

namespace paceline::cli {

// "2/5 points; 8192 GPUs: 34s of about 60s", cut to so many characters. `since`: how long what is
// being done goes on.
[[nodiscard]] std::string progress_text(const Progress& progress, Seconds since, std::size_t width);

// A line on a terminal's standard error that says where a command is, anew each second; it is gone
// when nothing goes on any more.
class ProgressLine {
 public:
  ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine();

  void tell(const Progress& progress);

 private:
  void run();
  void show();  // with the lock held

  std::mutex mutex_;
  std::condition_variable changed_;
  Progress progress_{.is_over = true};
  std::chrono::steady_clock::time_point since_;
  bool is_shown_ = false, is_over_ = false;
  std::thread thread_;
};

}  // namespace paceline::cli
