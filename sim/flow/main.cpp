// paceline-sim: reads points as JSON lines and writes the line of a reply for each.

#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <exception>
#include <iostream>
#include <new>
#include <string>

#include "sim/flow/flow_step.h"
#include "traces/json/protocol.h"

namespace paceline::sim {
namespace {

int serve() {
  // No server outlives the program that started it; if that died before, no process reads.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  pollfd output{STDOUT_FILENO, 0, 0};
  if (::poll(&output, 1, 0) > 0 && (output.revents & POLLERR) != 0) return 3;
  std::string line;
  while (std::getline(std::cin, line)) {
    try {
      std::cout << reply_to(traces::point_from_line(line)) << std::endl;
    } catch (const std::bad_alloc&) {
      std::cerr << "paceline-sim: not enough memory\n";
      return 3;
    } catch (const std::exception& error) {
      std::cerr << "paceline-sim: not a point: " << error.what() << '\n';
      return 2;
    }
    if (!std::cout) return 3;
  }
  return 0;
}

}  // namespace
}  // namespace paceline::sim

int main(int argc, char**) {
  if (argc > 1) {
    std::cerr << "paceline-sim takes no arguments: it reads points as JSON lines from standard "
                 "input; `paceline run` starts it\n";
    return 2;
  }
  return paceline::sim::serve();
}
