#include "traces/formats/run_records.h"

#include <array>

#include "models/registered_rows.h"
#include "traces/ddp_logging/ddp_logging.h"
#include "traces/formats/add_format.h"
#include "traces/horovod_timeline/horovod_timeline.h"
#include "traces/nsys/nsys.h"

namespace paceline::traces {
namespace {

constexpr std::array record_formats_of_the_tree{
    RunRecordFormat{"DistributedDataParallel's logging data", is_ddp_logging, read_ddp_logging},
    RunRecordFormat{"sums of nsys stats", is_nsys_statistics, read_nsys_statistics},
    RunRecordFormat{"Horovod timeline", is_horovod_timeline, read_horovod_timeline},
};

RegisteredRows<RunRecordFormat>& registered_record_formats() {
  static RegisteredRows<RunRecordFormat> rows(record_formats_of_the_tree);
  return rows;
}

}  // namespace

std::span<const RunRecordFormat> run_record_formats() { return registered_record_formats().all(); }

void add_run_record_format(const RunRecordFormat& row) {
  PACELINE_EXPECTS(!row.name.empty() && row.is_one != nullptr && row.read != nullptr);
  registered_record_formats().add(row,
                                  [](const auto& a, const auto& b) { return a.name == b.name; });
}

}  // namespace paceline::traces
