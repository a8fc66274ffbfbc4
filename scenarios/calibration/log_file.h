#pragma once

#include <string>
#include <utility>
#include <vector>

#include "models/cost/collective_fit.h"
#include "models/cost/link_fit.h"
#include "traces/collective_log/collective_log.h"
#include "traces/link_test/link_test.h"
#include "traces/ping_pong/ping_pong.h"

namespace paceline {

// Answers for logs that do not say these themselves.
struct LogOptions {
  std::optional<collectives::Collective> collective;
  std::uint32_t gpus = 0, nodes = 0;  // 0: not given
  Bytes least_size{1024};  // smaller rows of collectives are left out: they only repeat a latency
  std::optional<cost::LinkPlace> between;  // of ping-pongs
  bool takes_link_tests = false;
};

// One table of a file, whose group is known.
struct LogTable {
  std::string file, sha256;
  cost::CollectiveShape shape{};
  std::string release;
  std::vector<std::string> devices;
  std::size_t rows = 0;                                 // in the table
  std::vector<cost::CollectiveSample> samples;          // those of at least the least size
  std::vector<traces::CollectiveLog::Skipped> skipped;  // of the rows, or nothing but why
  std::vector<std::string> notes = {};                  // on what its times may hold
};

// One ping-pong of a file; it is known what lies between its ranks.
struct LinkTable {
  std::string file, sha256;
  cost::LinkPlace place{};
  std::vector<cost::LinkSample> samples;  // one a row
  std::vector<traces::PingPong::Skipped> skipped;
};

struct MeasuredFiles {
  std::vector<LogTable> logs;
  std::vector<LinkTable> links;
  std::vector<std::pair<std::string, std::vector<traces::LinkTest>>> tests = {};  // by file
};

// Of files, archives and folders, whose other files are passed over with a warning; "-" is standard
// input. Tables of files that are one log together (CollectiveLogFiles) name the first.
//
// Throws InputError, with file and line, for a file that cannot be read or is no log, for a table
// that does not record its collective and group, or what lies between its ranks, or contradicts the
// options.
[[nodiscard]] MeasuredFiles read_measured_files(const std::vector<std::string>& paths,
                                                const LogOptions& options);

// The same, of collectives: throws InputError for ping-pongs too.
[[nodiscard]] std::vector<LogTable> read_log_files(const std::vector<std::string>& paths,
                                                   const LogOptions& options);

}  // namespace paceline
