#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tests/scenarios/process.h"
#include "traces/device_trace/readers.h"
#include "traces/text/format_error.h"

namespace paceline::traces::test {

// A file of tests/fixtures/chakra.
inline std::string chakra_fixture(const std::string& name) {
  const std::string bytes =
      paceline::test::text_of(PACELINE_SOURCE_DIR "/tests/fixtures/chakra/" + name);
  EXPECT_FALSE(bytes.empty()) << name;
  return bytes;
}

// The error of bytes that must have one.
inline std::string chakra_error(const std::string& bytes) {
  try {
    (void)read_chakra(bytes);
  } catch (const FormatError& error) {
    EXPECT_FALSE(error.hint().empty());
    return error.what();
  }
  ADD_FAILURE() << "is read";
  return "";
}

// A message behind its length, of less than 128 bytes.
inline std::string framed(const std::string& message) {
  return static_cast<char>(message.size()) + message;
}

}  // namespace paceline::traces::test
