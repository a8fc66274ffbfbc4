#pragma once

#include <span>

#include "models/settings/key.h"

// The tables of a job's file, schema paceline.job/1.
namespace paceline::loader {

[[nodiscard]] std::span<const settings::Key> job_file_keys();
[[nodiscard]] std::span<const settings::Key> measured_on_keys();  // of an entry of its list

}  // namespace paceline::loader
