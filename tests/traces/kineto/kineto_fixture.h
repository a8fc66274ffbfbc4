#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/scenarios/process.h"
#include "traces/device_trace/readers.h"
#include "traces/text/format_error.h"

namespace paceline::traces::test {

// A file of tests/fixtures/kineto.
inline std::string kineto_fixture(const std::string& name) {
  const std::string text =
      paceline::test::text_of(PACELINE_SOURCE_DIR "/tests/fixtures/kineto/" + name);
  EXPECT_FALSE(text.empty()) << name;
  return text;
}

// The error of a text that must have one.
inline FormatError kineto_error(const std::string& text) {
  try {
    (void)read_kineto(text);
  } catch (const FormatError& error) {
    return error;
  }
  ADD_FAILURE() << "is read: " << text.substr(0, 200);
  return {0, "", ""};
}

inline std::vector<const TracedCollective*> calls_of(const DeviceTrace& trace,
                                                     collectives::Collective collective) {
  std::vector<const TracedCollective*> calls;
  for (const TracedCollective& call : trace.collectives) {
    if (call.collective == collective) calls.push_back(&call);
  }
  return calls;
}

}  // namespace paceline::traces::test
