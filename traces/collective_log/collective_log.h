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

  std::optional<collectives::Collective> collective;  // absent: not told
  std::uint32_t ranks = 0, nodes = 0;                 // 0: not told
  std::string release;                                // such as 2.8.4; may be empty
  std::set<std::string> devices;                      // as the log names them; may be empty
  std::vector<Row> rows;
  std::vector<Skipped> skipped;         // lines that look like a row and cannot be one
  std::vector<std::string> notes = {};  // sentences on what its times may hold
};

// The text without a byte order mark. Throws FormatError where it has a zero byte.
[[nodiscard]] std::string_view plain_text(std::string_view text);

// Every table of a text, in the format that its content shows (formats() lists them). Throws
// FormatError when it shows none, or is not text; tables have at least one row or one skipped line.
[[nodiscard]] std::vector<CollectiveLog> read_collective_logs(std::string_view text);

// Whether one of the formats takes a text.
[[nodiscard]] bool is_collective_log(std::string_view text);

struct CollectiveLogFormat {
  std::string_view name;
  bool (*is_one)(std::string_view text);
  std::vector<CollectiveLog> (*read)(std::string_view text);
};

// A row a format; the first that takes a text reads it.
[[nodiscard]] const std::vector<CollectiveLogFormat>& collective_log_formats();

}  // namespace paceline::traces
