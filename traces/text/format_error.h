#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

namespace paceline::traces {

// A place in a text: line and column from 1; 0 for all of it.
struct TextPlace {
  std::size_t line = 0, column = 0;
};

// Text that cannot be used: where, what, and what to do.
class FormatError : public std::runtime_error {
 public:
  FormatError(std::size_t line, const std::string& what, std::string hint)
      : FormatError(TextPlace{line, 0}, what, std::move(hint)) {}
  FormatError(TextPlace place, const std::string& what, std::string hint)
      : std::runtime_error(what), place_(place), hint_(std::move(hint)) {}

  [[nodiscard]] std::size_t line() const { return place_.line; }
  [[nodiscard]] std::size_t column() const { return place_.column; }
  [[nodiscard]] const std::string& hint() const { return hint_; }

 private:
  TextPlace place_;
  std::string hint_;
};

}  // namespace paceline::traces
