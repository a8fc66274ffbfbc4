#pragma once

#include <optional>
#include <stdexcept>
#include <string>

#include "models/units/units.h"

namespace paceline::real {

// Something wrong with what the user said: exit status 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Trouble in the world: a rank that died, no device, a library that refuses. Exit status 3. Its
// what() is one line: "mpi: rank 3: MPI_Wait: no end within 30 s".
class BackendError : public std::runtime_error {
 public:
  // `call` is what was tried: a library's function.
  BackendError(std::string backend, std::optional<Rank> rank, std::string call,
               std::string message);

  [[nodiscard]] const std::string& backend() const { return backend_; }
  [[nodiscard]] std::optional<Rank> rank() const { return rank_; }
  [[nodiscard]] const std::string& call() const { return call_; }
  [[nodiscard]] const std::string& message() const { return message_; }

 private:
  std::string backend_;
  std::optional<Rank> rank_;
  std::string call_;
  std::string message_;
};

}  // namespace paceline::real
