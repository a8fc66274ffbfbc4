#pragma once

#include <gtest/gtest.h>

#include <string_view>
#include <utility>

#include "traces/formats/formats.h"

namespace paceline::traces {

// The only trace of a text.
[[nodiscard]] inline DeviceTrace only_trace(std::string_view text) {
  auto all = read_device_traces(text);
  EXPECT_EQ(all.size(), 1U);
  return std::move(all.front().trace);
}

}  // namespace paceline::traces
