#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/scenarios/process.h"

namespace paceline::test {

// What every piece of bad input must get: exit code 2, one line on standard error and nothing on
// standard output, in little time and memory.
inline void expect_refused(const Ended& ended, const std::string& message) {
  EXPECT_EQ(ended.exit_code, 2) << "signal " << ended.signal << ": " << ended.err;
  EXPECT_EQ(ended.out, "");
  EXPECT_EQ(std::count(ended.err.begin(), ended.err.end(), '\n'), 1) << ended.err;
  EXPECT_EQ(ended.err.substr(0, message.size()), message) << ended.err;
}

}  // namespace paceline::test
