#pragma once

#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>

// What ends a command of paceline; real/errors.h has those of paceline-worker.
namespace paceline {

// Where in a text a value stands: line and column from 1; 0 when it has none (a command-line value,
// a whole file).
struct Location {
  std::string file;
  std::size_t line = 0;
  std::size_t column = 0;
};

// "file:line:column", without what is 0.
[[nodiscard]] std::string to_text(const Location& where);

// Bad input of the user's: ends a command with one line and exit code 2.
class InputError : public std::runtime_error {
 public:
  // Reads "file:line:column: what; hint", without what is 0. `hint` may be empty.
  InputError(Location where, const std::string& what, const std::string& hint);

  [[nodiscard]] const Location& where() const { return where_; }

 private:
  Location where_;
};

// A strategy that cannot run the step it was asked for, as torch.nn.DataParallel on several nodes:
// what a table of strategies shows in the place of a prediction.
class StrategyRefusal : public InputError {
 public:
  // `reason` completes a sentence after the strategy's name.
  StrategyRefusal(Location where, const std::string& strategy, const std::string& reason,
                  const std::string& hint)
      : InputError(std::move(where), "strategy \"" + strategy + "\" " + reason, hint),
        reason_(reason) {}

  [[nodiscard]] const std::string& reason() const { return reason_; }

 private:
  std::string reason_;
};

// A failure of the machine or the network, not of the input: ends a command with one line and exit
// code 3.
class BackendError : public std::runtime_error {
 public:
  // `backend` is the program or library that has it.
  BackendError(const std::string& backend, const std::string& message)
      : std::runtime_error(backend + ": " + message) {}
};

// What is odd in the input of a command and yet no error.

// Takes a line, as InputError has it, without its end.
using WarningSink = std::function<void(const std::string& line)>;

// Who hears of them in this process from now on, each line once, one at a time and on any thread;
// nobody before, as in tests and in programs that have no user.
void hear_warnings(WarningSink sink);

// The line reads "file:line:column: what; hint", without what is 0. `hint` may be empty.
void warn(const Location& where, const std::string& what, const std::string& hint);

}  // namespace paceline
