#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "traces/collective_log/collective_log.h"

namespace paceline::traces {

// One of the two functions is there.
struct CollectiveLogFormat {
  std::string_view name;
  bool (*is_one)(std::string_view text);
  std::vector<CollectiveLog> (*read)(std::string_view text);  // each file is a log of its own
  std::unique_ptr<JoinedLog> (*join)() = nullptr;             // files are one log together
};

// A row a format; the first that takes a text reads it.
[[nodiscard]] std::span<const CollectiveLogFormat> collective_log_formats();

[[nodiscard]] bool is_collective_log(std::string_view text);

// Whether a text may hold a log and ping-pongs, as suites of benchmarks print them. A table whose
// header says ping-pongs is no log.
[[nodiscard]] bool is_log_beside_ping_pongs(std::string_view text);

// Every table of a text. Throws FormatError when no format takes it, or it is not text; tables have
// at least one row or one skipped line.
[[nodiscard]] std::vector<CollectiveLog> read_collective_logs(std::string_view text);

// Files of logs that are given together.
class CollectiveLogFiles {
 public:
  // Files that are one log, by the order of take(), and their tables.
  struct Joined {
    std::vector<std::size_t> files;
    std::vector<CollectiveLog> tables;
  };

  // The tables of the next file; none yet where its format joins files. Throws likewise.
  [[nodiscard]] std::vector<CollectiveLog> take(std::string_view text);
  // Once, when all are taken.
  [[nodiscard]] std::vector<Joined> joined();

 private:
  struct Group {
    const CollectiveLogFormat* format;
    std::vector<std::size_t> files;
    std::unique_ptr<JoinedLog> log;
  };

  std::size_t taken_ = 0;
  std::vector<Group> groups_;
};

}  // namespace paceline::traces
