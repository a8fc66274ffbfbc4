#pragma once

#include "traces/horovod_timeline/engine.h"
#include "traces/horovod_timeline/events.h"
#include "traces/run_record/run_record.h"

namespace paceline::traces::horovod {

// The figures, tables, notes and settings of a timeline. Precondition: the engine has a first and a
// last time.
[[nodiscard]] RunRecord told_of(const Engine& engine, const TimelineText& found);

}  // namespace paceline::traces::horovod
