#pragma once

#include "traces/formats/formats.h"

namespace paceline::traces {

// Each adds a format from outside the tree, asked about texts that no format of the tree takes.
// Preconditions: at the start of main(), before anything is read and before the second thread; the
// row has its functions and a name that no other has and that outlives the program.
void add_collective_log_format(const CollectiveLogFormat& row);
void add_device_trace_format(const DeviceTraceFormat& row);
void add_run_record_format(const RunRecordFormat& row);

}  // namespace paceline::traces
