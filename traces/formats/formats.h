#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "traces/collective_log/collective_log.h"
#include "traces/device_trace/device_trace.h"
#include "traces/run_record/run_record.h"

// Tables of formats, a row a format: the first that takes a text reads it.
namespace paceline::traces {

// One of the two functions is there.
struct CollectiveLogFormat {
  std::string_view name;
  bool (*is_one)(std::string_view text);
  std::vector<CollectiveLog> (*read)(std::string_view text);  // each file is a log of its own
  std::unique_ptr<JoinedLog> (*join)() = nullptr;             // files are one log together
};

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

struct DeviceTraceFormat {
  std::string_view name;
  bool (*is_one)(std::string_view text);
  // One of the two is there; both throw FormatError.
  DeviceTrace (*read)(std::string_view text);
  std::vector<TracePart> (*read_all)(std::string_view text) = nullptr;  // files may hold several
  // Its contents never tell the rank, which the names of its files have: nccl_trace_rank_3.
  bool is_named_by_rank = false;
};

[[nodiscard]] std::span<const DeviceTraceFormat> device_trace_formats();

// The rank that a file is named by: the number behind its last "rank", or else at its end but for
// the extension. nullopt where there is none, or it is no rank of a run.
[[nodiscard]] std::optional<Rank> rank_of_file_name(std::string_view name);

// All traces of a text, in the format that its content shows: one, but of formats whose files hold
// several. Throws FormatError when it shows none, or is cut off, or is a timeline of ours, which
// looks like Kineto's.
[[nodiscard]] std::vector<TracePart> read_device_traces(std::string_view text);

struct RunRecordFormat {
  std::string_view name;
  bool (*is_one)(std::string_view text);     // of the first MiB or of all
  RunRecord (*read)(std::string_view text);  // throws FormatError
};

[[nodiscard]] std::span<const RunRecordFormat> run_record_formats();

// Each adds a format from outside the tree, asked about texts that no format of the tree takes.
// Preconditions: at the start of main(), before anything is read and before the second thread; the
// row has its functions and a name that no other has and that outlives the program.
void add_collective_log_format(const CollectiveLogFormat& row);
void add_device_trace_format(const DeviceTraceFormat& row);
void add_run_record_format(const RunRecordFormat& row);

}  // namespace paceline::traces
