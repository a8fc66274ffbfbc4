#pragma once

#include <string>
#include <string_view>

namespace paceline {

// Characters that would steer a terminal, or turn the order of text around it, written as \u001b
// is: control characters but line feeds and tabs, and Unicode's marks of direction.
//
// Text comes in pieces that may end within a character.
class ControlEscaper {
 public:
  [[nodiscard]] std::string take(std::string_view piece);
  // What is left of a character that was not finished.
  [[nodiscard]] std::string rest();

 private:
  std::string open_;  // the bytes of a character that may go on
};

[[nodiscard]] std::string without_controls(std::string_view text);
// And without line feeds and tabs: for a message, which is a line.
[[nodiscard]] std::string in_one_line(std::string_view text);

}  // namespace paceline
