#include "traces/formats/run_records.h"

namespace paceline::traces {
namespace {

// constexpr std::array record_formats{RunRecordFormat{"name", is_..., read_...}};

}  // namespace

std::span<const RunRecordFormat> run_record_formats() { return {}; }

}  // namespace paceline::traces
