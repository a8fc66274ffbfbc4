#pragma once

#include <array>
#include <csignal>

#include "real/launch/socket.h"

namespace paceline::real {

// SIGINT and SIGTERM as something to poll, for as long as it lives; one at a time in a process.
// Throws BackendError when there is no pipe to be had.
class Interruption {
 public:
  Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;
  ~Interruption();

  // Can be read once a signal came.
  [[nodiscard]] int file() const { return read_.file(); }
  // The signal that came, or 0.
  [[nodiscard]] int take() const;

 private:
  static constexpr std::array<int, 2> signals{SIGINT, SIGTERM};

  Socket read_, write_;
  std::array<struct sigaction, signals.size()> before_{};
};

}  // namespace paceline::real
