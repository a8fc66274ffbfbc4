#pragma once

#include <string>
#include <vector>

#include "models/cost/collective_fit.h"
#include "traces/collective_log/collective_log.h"

namespace paceline {

// What a user says of logs that do not say it themselves.
struct LogOptions {
  std::optional<collectives::Collective> collective;
  std::uint32_t gpus = 0, nodes = 0;  // 0: not said
  Bytes least_size{1024};             // smaller rows are left out: they only repeat a latency
};

// One table of a file, with its group known.
struct LogTable {
  std::string file, sha256;
  cost::CollectiveShape shape{};
  std::string release;
  std::vector<std::string> devices;
  std::size_t rows = 0;                                 // in the table
  std::vector<cost::CollectiveSample> samples;          // those of at least the least size
  std::vector<traces::CollectiveLog::Skipped> skipped;  // of the rows, or nothing but why
};

// Throws InputError, with file and line, for a file that cannot be read or is no log, for a table
// that does not say its collective or group, or says another than the options.
[[nodiscard]] std::vector<LogTable> read_log_files(const std::vector<std::string>& paths,
                                                   const LogOptions& options);

}  // namespace paceline
