#include "real/launch/interruption.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "real/errors.h"

namespace paceline::real {
namespace {

volatile std::sig_atomic_t pipe_of_handler = -1;  // where the handler writes

void note(int number) {
  const int error = errno;
  const auto byte = static_cast<unsigned char>(number);
  (void)!::write(pipe_of_handler, &byte, 1);
  errno = error;
}

}  // namespace

Interruption::Interruption() {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
    throw BackendError("", std::nullopt, "", "ranks cannot be started: no pipe");
  }
  read_ = Socket(ends[0]);
  write_ = Socket(ends[1]);
  pipe_of_handler = ends[1];
  struct sigaction action {};
  action.sa_handler = note;
  action.sa_flags = SA_RESTART;
  for (std::size_t i = 0; i < signals.size(); ++i) ::sigaction(signals[i], &action, &before_[i]);
}

Interruption::~Interruption() {
  for (std::size_t i = 0; i < signals.size(); ++i) ::sigaction(signals[i], &before_[i], nullptr);
  pipe_of_handler = -1;
}

int Interruption::take() const {
  unsigned char number = 0;
  return ::read(read_.file(), &number, 1) == 1 ? number : 0;
}

}  // namespace paceline::real
