#include "scenarios/process/stop_request.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cmath>
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
  int none = 0;
  (void)signal_that_came.compare_exchange_strong(none, signal);  // the first counts
  const char byte = 0;
  (void)!::write(write_end, &byte, 1);
  // The next one ends the process.
  for (const int one : caught) ::signal(one, SIG_DFL);
  errno = error;
}

}  // namespace

StopRequest::StopRequest(std::optional<Seconds> limit) {
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
  if (limit) begin(*limit);
}

void StopRequest::begin(Seconds limit) {
  struct sigaction action {};
  action.sa_handler = ask_to_stop;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGALRM, &action, &alarm_before_);
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGALRM;
  timer_t timer{};
  if (::timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) {
    throw BackendError("paceline", std::string("no timer: ") + std::strerror(errno));
  }
  timer_ = timer;
  constexpr double nanoseconds = 1e9;
  constexpr double longest = 1e9;  // thirty years
  const double whole = std::floor(std::min(limit.value(), longest));
  itimerspec at{};
  at.it_value.tv_sec = static_cast<std::time_t>(whole);
  at.it_value.tv_nsec = static_cast<long>(std::min(limit.value() - whole, 0.999) * nanoseconds);
  ::timer_settime(timer, 0, &at, nullptr);
}

StopRequest::~StopRequest() {
  if (timer_) {
    ::timer_delete(*timer_);
    ::sigaction(SIGALRM, &alarm_before_, nullptr);
  }
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
