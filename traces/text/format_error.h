#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

namespace paceline::traces {

// Text that cannot be used: where, what, and what to do. `line`, `column` are 0 for all of it.
class FormatError : public std::runtime_error {
 public:
  FormatError(std::size_t line, const std::string& what, std::string hint)
      : FormatError(line, 0, what, std::move(hint)) {}
  FormatError(std::size_t line, std::size_t column, const std::string& what, std::string hint)
      : std::runtime_error(what), line_(line), column_(column), hint_(std::move(hint)) {}

  [[nodiscard]] std::size_t line() const { return line_; }
  [[nodiscard]] std::size_t column() const { return column_; }
  [[nodiscard]] const std::string& hint() const { return hint_; }

 private:
  std::size_t line_, column_;
  std::string hint_;
};

}  // namespace paceline::traces
