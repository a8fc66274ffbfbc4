#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <stdexcept>
#include <type_traits>

namespace paceline::sim {

// Runs something in a child process and returns its result: SimGrid has one engine a process, and
// a test has many simulations.
template <class Work>
auto isolated(Work work) {
  using Value = decltype(work());
  static_assert(std::is_trivially_destructible_v<Value>);  // plain data: it crosses as bytes
  int ends[2];
  if (::pipe(ends) != 0) throw std::runtime_error("no pipe");
  const pid_t child = ::fork();
  if (child == 0) {
    const Value value = work();
    const auto written = ::write(ends[1], &value, sizeof value);
    std::_Exit(written == static_cast<ssize_t>(sizeof value) ? 0 : 1);
  }
  ::close(ends[1]);
  Value value{};
  const auto read = ::read(ends[0], &value, sizeof value);
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (read != static_cast<ssize_t>(sizeof value) || status != 0) {
    throw std::runtime_error("the simulation died");
  }
  return value;
}

}  // namespace paceline::sim
