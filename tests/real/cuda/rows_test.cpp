#include <gtest/gtest.h>

#include <algorithm>

#include "real/backend.h"

namespace paceline::test {
namespace {

const real::Backend& row_of(const std::vector<real::Backend>& rows, std::string_view name) {
  const auto found =
      std::ranges::find_if(rows, [&](const real::Backend& row) { return row.name == name; });
  if (found == rows.end()) throw std::runtime_error("no row");
  return *found;
}

// Built or not, with a device or without.
TEST(GpuBackends, AreListedWithWhatTheyMiss) {
  const auto rows = real::backends();
  for (const std::string_view name : {"nccl", "cuda-local"}) {
    const real::Backend& row = row_of(rows, name);
    EXPECT_FALSE(row.summary.empty());
    EXPECT_EQ(row.missing.find('\n'), std::string::npos) << row.missing;
    if (row.connect == nullptr) {
      EXPECT_EQ(row.missing.rfind("not built: ", 0), 0U) << row.missing;
    } else if (!row.missing.empty()) {
      EXPECT_EQ(row.missing.rfind("no CUDA device", 0), 0U) << row.missing;
    }
  }
}

}  // namespace
}  // namespace paceline::test
