#pragma once

#include <poll.h>
#include <sys/types.h>

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "models/units/units.h"

namespace paceline {

// A program in this one's folder, links resolved, so that builds move as a whole. Throws
// BackendError where this build was made without it, with what works without.
[[nodiscard]] std::string executor_path(const std::string& name);

struct ExecutorCommand {
  std::string name;                    // for messages
  std::vector<std::string> arguments;  // the program first
  // Whether what it says on standard error is kept for last_words() instead of passed on.
  bool keeps_quiet;
  // How long it may be stopped (SIGSTOP) before it is ended; nothing: for ever.
  std::optional<Seconds> stopped_max = std::nullopt;
  std::optional<Bytes> memory_max = std::nullopt;  // of its address space
};

// A child process that answers lines with lines. Ends with its input.
class LineProcess {
 public:
  // Throws BackendError when it cannot be started.
  explicit LineProcess(const ExecutorCommand& command);
  LineProcess(const LineProcess&) = delete;
  LineProcess& operator=(const LineProcess&) = delete;
  ~LineProcess();

  struct Answer {
    std::optional<std::string> line;  // empty: the process died, or is too late
    bool too_late = false;
  };

  // Sends a line and waits for one; without a limit, as long as it lives. Throws Stopped.
  Answer ask(const std::string& line, const std::optional<Seconds>& limit);
  // Waits for one more line.
  Answer listen(const std::optional<Seconds>& limit);

  void kill() const;
  // Asks it to end, and its children with it.
  void terminate() const;
  // Waits for its end, when its input ends: exit status, or 128 + a signal's number. Repeatable.
  int end();
  // Whether it was ended because it was stopped for too long.
  [[nodiscard]] bool was_stopped() const { return was_asked_to_end_; }
  // The end of what it said on standard error, when that is kept.
  [[nodiscard]] const std::string& last_words() const { return last_words_; }

 private:
  class Deadline;
  enum class Progress { made, ended, too_late };

  [[nodiscard]] Progress send(const std::string& text, const Deadline& deadline);
  Answer receive(const Deadline& deadline);
  void hear_out();
  // Waits as the deadline does, and looks after the process meanwhile.
  template <std::size_t n>
  [[nodiscard]] bool allows(const Deadline& deadline, std::array<pollfd, n>& files);
  void look_whether_stopped();

  pid_t process_ = 0;
  int write_ = -1, read_ = -1, error_ = -1;
  std::optional<int> status_;
  std::optional<Seconds> stopped_max_;
  std::optional<std::chrono::steady_clock::time_point> stopped_since_;
  bool was_asked_to_end_ = false;
  bool is_ending_ = false;
  std::string buffer_;
  std::size_t searched_ = 0;
  std::string last_words_;
};

}  // namespace paceline
