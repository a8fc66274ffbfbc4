#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

namespace paceline::traces {

// Text that cannot be used: where, what, and what to do. `line` is 0 for all of it.
class FormatError : public std::runtime_error {
 public:
  FormatError(std::size_t line, const std::string& what, std::string hint)
      : std::runtime_error(what), line_(line), hint_(std::move(hint)) {}

  [[nodiscard]] std::size_t line() const { return line_; }
  [[nodiscard]] const std::string& hint() const { return hint_; }

 private:
  std::size_t line_;
  std::string hint_;
};

}  // namespace paceline::traces
