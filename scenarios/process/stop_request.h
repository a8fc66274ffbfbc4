#pragma once

#include <csignal>
#include <ctime>
#include <optional>
#include <stdexcept>

#include "models/units/units.h"

namespace paceline {

// While it lives, the first SIGINT, SIGTERM or SIGHUP (the terminal is gone) only ends waits for
// other processes, so that what is done can be written; the second ends the process. One at a time.
// With a limit it sends itself SIGALRM after that time, which counts likewise.
class StopRequest {
 public:
  explicit StopRequest(std::optional<Seconds> limit = std::nullopt);
  StopRequest(const StopRequest&) = delete;
  StopRequest& operator=(const StopRequest&) = delete;
  ~StopRequest();

  // The signal that came, or 0; also where none lives. Any thread may ask.
  [[nodiscard]] static int signal();
  // A file that can be read once a signal came; -1 where none lives.
  [[nodiscard]] static int file();
  // Throws Stopped once one has come.
  static void check();
  // Whether one has come or soon will: a child that died of a signal may have had it first.
  [[nodiscard]] static bool is_made_or_comes();

 private:
  void begin(Seconds limit);

  struct sigaction alarm_before_ {};
  std::optional<timer_t> timer_;
};

// What ends a wait for another process once a stop is asked for.
class Stopped : public std::runtime_error {
 public:
  Stopped()
      : std::runtime_error(StopRequest::signal() == SIGALRM ? "stopped by --time-limit"
                                                            : "stopped by a signal") {}
};

}  // namespace paceline
