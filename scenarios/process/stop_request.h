#pragma once

#include <stdexcept>

namespace paceline {

// While it lives, the first SIGINT, SIGTERM or SIGHUP (the terminal is gone) only ends waits for
// other processes, so that what is done can be written; the second ends the process. One at a time.
class StopRequest {
 public:
  StopRequest();
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
};

// What ends a wait for another process once a stop is asked for.
class Stopped : public std::runtime_error {
 public:
  Stopped() : std::runtime_error("stopped by a signal") {}
};

}  // namespace paceline
