#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "scenarios/calibration/learnt_steps.h"
#include "scenarios/cli/run_options.h"

namespace paceline::cli {

// What the known points of a scenario say of its machine; with `all_rows` every measured one counts
// as known. Throws InputError for a scenario without a known point of several GPUs, and for more
// than learnt_rows_most.
[[nodiscard]] LearntSteps learn(const std::string& path, const SharedOptions& options,
                                bool all_rows);

// Throws InputError for scenarios of machines of more than one kind.
void expect_one_kind(const std::vector<LearntSteps>& learnt);

// As calibrate tells it; nothing for none.
void write_told(std::ostream& out, const std::vector<LearntSteps>& learnt);

}  // namespace paceline::cli
