#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "models/units/units.h"
#include "real/backend.h"
#include "real/team.h"

namespace paceline::real {

struct SessionOptions {
  std::string backend;           // a name of backends()
  std::uint32_t local_rank = 0;  // among this machine's
  Seconds timeout;               // of every wait for another rank; above 0
};

// Where rank 0 gets points and leaves replies, a line each (traces/json/protocol.h).
struct SessionLines {
  std::function<std::optional<std::string>()> next;    // nullopt: no more
  std::function<void(const std::string& line)> reply;  // results, failures and progress
};

// Throws UsageError when there is no such backend, BackendError when it cannot be used here.
[[nodiscard]] Backend require_backend(const std::string& name);

// One rank's part of a session: measures points until rank 0, which leads, has no more. Throws
// BackendError, and UsageError when the backend is not known.
void serve(Team& team, const SessionOptions& options, const SessionLines& lines);

}  // namespace paceline::real
