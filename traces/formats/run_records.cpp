#include "traces/formats/run_records.h"

#include <array>

#include "traces/ddp_logging/ddp_logging.h"
#include "traces/horovod_timeline/horovod_timeline.h"
#include "traces/nsys/nsys.h"

namespace paceline::traces {
namespace {

constexpr std::array record_formats{
    RunRecordFormat{"DistributedDataParallel's logging data", is_ddp_logging, read_ddp_logging},
    RunRecordFormat{"sums of nsys stats", is_nsys_statistics, read_nsys_statistics},
    RunRecordFormat{"Horovod timeline", is_horovod_timeline, read_horovod_timeline},
};

}  // namespace

std::span<const RunRecordFormat> run_record_formats() { return record_formats; }

}  // namespace paceline::traces
