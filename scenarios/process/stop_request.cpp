#include "scenarios/process/stop_request.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>

#include "scenarios/errors.h"

namespace paceline {
namespace {

constexpr std::array<int, 3> caught{SIGINT, SIGTERM, SIGHUP};

// All that a handler may touch.
std::atomic<int> signal_that_came = 0;
std::atomic<int> read_end = -1, write_end = -1;
static_assert(std::atomic<int>::is_always_lock_free);

std::array<struct sigaction, caught.size()> handlers_before{};

extern "C" void ask_to_stop(int signal) {
  const int error = errno;
  signal_that_came = signal;
  const char byte = 0;
  (void)!::write(write_end, &byte, 1);
  // The next one ends the process.
  for (const int one : caught) ::signal(one, SIG_DFL);
  errno = error;
}

}  // namespace

StopRequest::StopRequest() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
    throw BackendError("paceline", std::string("no pipe for signals: ") + std::strerror(errno));
  }
  signal_that_came = 0;
  read_end = ends[0];
  write_end = ends[1];
  struct sigaction action {};
  action.sa_handler = ask_to_stop;
  action.sa_flags = SA_RESTART;
  for (std::size_t i = 0; i < caught.size(); ++i) {
    ::sigaction(caught[i], nullptr, &handlers_before[i]);
    if (handlers_before[i].sa_handler != SIG_IGN)
      ::sigaction(caught[i], &action, nullptr);  // of nohup
  }
}

StopRequest::~StopRequest() {
  for (std::size_t i = 0; i < caught.size(); ++i)
    ::sigaction(caught[i], &handlers_before[i], nullptr);
  ::close(read_end.exchange(-1));
  ::close(write_end.exchange(-1));
}

int StopRequest::signal() { return signal_that_came; }
int StopRequest::file() { return read_end; }

void StopRequest::check() {
  if (signal() != 0) throw Stopped();
}

bool StopRequest::is_made_or_comes() {
  constexpr int moment_ms = 100;
  if (signal() != 0) return true;
  if (file() < 0) return false;
  pollfd asked{file(), POLLIN, 0};
  while (::poll(&asked, 1, moment_ms) < 0 && errno == EINTR) {
  }
  return signal() != 0;
}

}  // namespace paceline
