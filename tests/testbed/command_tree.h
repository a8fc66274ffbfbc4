#pragma once

#include <sys/types.h>

#include <vector>

#include "tests/testbed/descriptor.h"
#include "tests/testbed/testbed_options.h"

namespace paceline::testbed {

// COMMAND and all it starts, in a process namespace of its own: the end of that namespace's init
// ends them all, whatever they did to detach themselves, and init ends with COMMAND and, by a
// death signal, with the testbed. They see a /proc of their own, in which init is process 1 and
// holds the descriptors of host_entry.h, and an /etc/hosts that knows host0, host1 and so on.
class CommandTree {
 public:
  // `devices` are closed in it. Signals that the caller has blocked stay pending for init, and are
  // not blocked in COMMAND. Throws SetupError.
  CommandTree(const RunOptions& options, const std::vector<int>& devices);

  [[nodiscard]] pid_t init() const { return init_; }
  // Passes a signal to COMMAND; SIGKILL ends all.
  void signal(int number) const;
  // After SIGCHLD: whether all has ended.
  [[nodiscard]] bool has_ended();
  // COMMAND's, as a shell tells it: 128 + the signal that ended it.
  [[nodiscard]] int exit_status() const { return exit_status_; }

 private:
  pid_t init_ = -1;
  int exit_status_ = 0;
  Descriptor lifeline_;  // closed when the testbed ends, however that comes
};

}  // namespace paceline::testbed
