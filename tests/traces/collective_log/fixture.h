#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "traces/formats/formats.h"
#include "traces/text/format_error.h"

namespace paceline::traces::test {

// A file of tests/fixtures/collective_log.
inline std::string fixture(const std::string& name) {
  const std::string path =
      std::string(PACELINE_SOURCE_DIR "/tests/fixtures/collective_log/") + name;
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// The only table of a text.
inline CollectiveLog only_log(const std::string& text) {
  const auto logs = read_collective_logs(text);
  EXPECT_EQ(logs.size(), 1U);
  return logs.empty() ? CollectiveLog() : logs.front();
}

// Rounded to ns, which all logs here are exact to.
inline std::vector<double> times_us(const CollectiveLog::Row& row) {
  std::vector<double> times;
  for (const Seconds time : row.times) times.push_back(std::round(time.value() * 1e9) / 1e3);
  return times;
}

// Why the only line of a table that is no row was skipped.
inline std::string skipped_why(const CollectiveLog& log) {
  EXPECT_TRUE(log.rows.empty());
  EXPECT_EQ(log.skipped.size(), 1U);
  return log.skipped.empty() ? "" : log.skipped.front().why;
}

// The error of a text that must have one.
inline FormatError error_of(const std::string& text) {
  try {
    (void)read_collective_logs(text);
  } catch (const FormatError& error) {
    return error;
  }
  ADD_FAILURE() << "is read: " << text.substr(0, 200);
  return {0, "", ""};
}

}  // namespace paceline::traces::test
