#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/collectives/plan.h"
#include "models/units/units.h"

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

// Collectives of one kind, measured size by size in one group.
struct CollectiveLog {
  struct Row {
    std::size_t line = 0;
    Bytes size;                  // of the whole buffer; 1 to 2^56
    std::vector<Seconds> times;  // one or more, each of 1 ps to 1e9 s: out of place, in place
  };
  struct Skipped {
    std::size_t line = 0;
    std::string why;
  };

  std::optional<collectives::Collective> collective;  // nullopt: not recorded
  std::uint32_t ranks = 0, nodes = 0;                 // 0: not recorded
  std::string release;                                // such as 2.8.4; may be empty
  std::set<std::string> devices;                      // as the log names them; may be empty
  std::vector<Row> rows;
  std::vector<Skipped> skipped;         // lines that look like a row and cannot be one
  std::vector<std::string> notes = {};  // sentences on what its times may hold
};

// The text without a byte order mark.
[[nodiscard]] std::string_view without_mark(std::string_view text);

// Likewise. Throws FormatError where it has a zero byte.
[[nodiscard]] std::string_view plain_text(std::string_view text);

}  // namespace paceline::traces
