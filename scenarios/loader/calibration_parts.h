#pragma once

#include <string>

namespace paceline::loader {

// What a calibration's file has, as its uppermost keys say.
struct CalibrationParts {
  bool has_logs = true;    // fits of logs or ping-pongs: `collectives`, `links`
  bool is_learnt = false;  // what steps said of the machine: `learnt`
};

// Of a file that was not looked at since it was written last; a file that cannot be read has what
// whoever reads it complains of. Any thread may ask.
[[nodiscard]] CalibrationParts calibration_parts_of(const std::string& path);

}  // namespace paceline::loader
