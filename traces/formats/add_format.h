#pragma once

#include "traces/formats/collective_logs.h"
#include "traces/formats/device_traces.h"
#include "traces/formats/run_records.h"

namespace paceline::traces {

// Each adds a format from outside the tree, behind those of the tree: it is asked about texts that
// none of these takes. Its name outlives the program. Call them at the start of main(), before
// anything is read and before the second thread.
// Preconditions: so; the row has a name that no other has, and its functions.
void add_collective_log_format(const CollectiveLogFormat& row);
void add_device_trace_format(const DeviceTraceFormat& row);
void add_run_record_format(const RunRecordFormat& row);

}  // namespace paceline::traces
