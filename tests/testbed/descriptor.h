#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

namespace paceline::testbed {

// A testbed cannot be had here: no permission, no TUN, no tc. One line for the user.
struct SetupError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// "WHAT: REASON", the reason from errno.
[[nodiscard]] inline SetupError system_failure(const std::string& what) {
  return SetupError(what + ": " + std::strerror(errno));
}

// An open file descriptor, closed at the end of its owner.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }

  [[nodiscard]] int number() const { return number_; }

 private:
  int number_ = -1;
};

// The open descriptor that a system call returned, or what failed.
[[nodiscard]] inline Descriptor opened(int number, const std::string& what) {
  if (number < 0) throw system_failure(what);
  return Descriptor(number);
}

// For a call that says by -1 that it failed.
inline void require(int result, const std::string& what) {
  if (result < 0) throw system_failure(what);
}

}  // namespace paceline::testbed
