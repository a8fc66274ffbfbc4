#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "traces/ping_pong/ping_pong.h"
#include "traces/text/format_error.h"

namespace paceline::traces::test {

// A file of tests/fixtures/ping_pong.
inline std::string ping_pong_fixture(const std::string& name) {
  const std::string path = std::string(PACELINE_SOURCE_DIR "/tests/fixtures/ping_pong/") + name;
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// The only table of a text.
inline PingPong only_ping_pong(const std::string& text) {
  EXPECT_TRUE(is_ping_pong(text));
  const auto tables = read_ping_pongs(text);
  EXPECT_EQ(tables.size(), 1U);
  return tables.empty() ? PingPong() : tables.front();
}

// Rounded to ns, which all tables here are exact to.
inline double time_us(const PingPong::Row& row) { return std::round(row.time.value() * 1e9) / 1e3; }

// Why lines were skipped.
inline std::vector<std::string> reasons(const PingPong& table) {
  std::vector<std::string> all;
  for (const auto& skipped : table.skipped) all.push_back(skipped.why);
  return all;
}

// The error of a text that must have one.
inline FormatError ping_pong_error(const std::string& text) {
  try {
    (void)read_ping_pongs(text);
  } catch (const FormatError& error) {
    return error;
  }
  ADD_FAILURE() << "is read: " << text.substr(0, 200);
  return {0, "", ""};
}

}  // namespace paceline::traces::test
