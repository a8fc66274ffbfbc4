#pragma once

#include <string>
#include <string_view>

namespace paceline {

// As a shell takes it, in commands that paceline proposes.
[[nodiscard]] inline std::string shell_word(const std::string& word) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.=,/:@%+-";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
  std::string text = "'";
  for (const char letter : word) {
    text += letter == '\'' ? std::string("'\\''") : std::string{letter};
  }
  return text + "'";
}

}  // namespace paceline
