#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "real/launch/socket.h"

namespace paceline::real {

struct ChildRequest {
  std::vector<std::string> command;
  std::map<std::string, std::string> variables;  // beside those of this process, or instead
  bool has_terminal = false;                     // stdin and stdout are those of this process
  int inherited = -1;                            // a file that stays open; -1: none
};

struct Child {
  pid_t pid = 0;
  Socket ended;   // can be read once it has ended; none where the kernel lacks pidfd_open
  Socket errors;  // what it writes to stderr, and to stdout where that is not this process's
};

// A process that is killed when the calling thread ends. Throws BackendError.
[[nodiscard]] Child start_child(const ChildRequest& request);

}  // namespace paceline::real
