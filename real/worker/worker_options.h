#pragma once

#include <optional>
#include <string>

#include "models/units/units.h"

namespace paceline::real {

// The command line of paceline-worker.
struct WorkerOptions {
  std::string backend = "gloo";
  std::optional<RankCount> ranks;  // start that many on this machine
  std::string rendezvous = "env://";
  Seconds timeout{30.0};         // of every wait for another rank; above 0
  Seconds connect_timeout{8.0};  // for all ranks to find each other; above 0
  std::string told;              // what the ranks of a run are told alike (RankIdentity)
  std::string fault;             // why this rank takes no part (RankIdentity)
  std::string secret_file;       // instead of PACELINE_SECRET_FILE
  bool doctor = false;           // only say which backends there are
  bool who = false;              // only say which rank this process is
};

// nullopt when help was requested and printed. Throws UsageError.
[[nodiscard]] std::optional<WorkerOptions> parse_worker_options(int argc, const char* const* argv);

}  // namespace paceline::real
