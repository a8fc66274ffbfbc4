#pragma once

#include <functional>
#include <thread>

#include "models/units/units.h"

namespace paceline::real {

// Looks after whoever started this process, which may be stopped (SIGSTOP, Ctrl-Z) while other
// ranks wait for what it asks next: the thread calls `on_stopped` once it has been stopped for so
// long at a stretch.
[[nodiscard]] std::jthread watch_parent(Seconds stopped_max, std::function<void()> on_stopped);

}  // namespace paceline::real
