#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace paceline::traces {

// What launchers, schedulers, loggers and quotes put before lines: rows of a table in prefixes.cpp.
class Prefixes {
 public:
  // Looks for what only many lines together show: names of hosts before each, and numbers of lines.
  explicit Prefixes(std::string_view text);

  // Of all before what the program wrote. Adds the writer's name to `writer`, and counts kinds.
  [[nodiscard]] std::size_t length(std::string_view line, std::string& writer,
                                   std::map<std::string, std::size_t>& kinds) const;

 private:
  std::set<std::string, std::less<>> hosts_;  // "node-a: " before lines
  bool numbers_are_of_lines_ = false;         // "12: ", as grep -n, and not of srun --label
};

// Whether a text has codes of a terminal, carriage returns inside lines or blanks of web pages.
[[nodiscard]] bool may_have_codes(std::string_view text);

// The line without them; nullopt where it has none.
[[nodiscard]] std::optional<std::string> without_codes(std::string_view line);

}  // namespace paceline::traces
