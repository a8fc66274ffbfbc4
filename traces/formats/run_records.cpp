#include "traces/formats/run_records.h"

#include <array>

#include "traces/horovod_timeline/horovod_timeline.h"

namespace paceline::traces {
namespace {

constexpr std::array record_formats{
    RunRecordFormat{"Horovod timeline", is_horovod_timeline, read_horovod_timeline},
};

}  // namespace

std::span<const RunRecordFormat> run_record_formats() { return record_formats; }

}  // namespace paceline::traces
