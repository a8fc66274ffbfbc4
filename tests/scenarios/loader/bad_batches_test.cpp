// Batches that are shared or timed, and are refused.

#include "tests/scenarios/loader/bad_batches.h"

#include <gtest/gtest.h>

namespace paceline::test {
namespace bad_batches_test {

TEST(BadBatches, AreRefusedInOneLineThatPointsAtThem) {
  for (const BadScenario& bad : bad_batches) {
    SCOPED_TRACE(bad.name);
    expect_refused_there(bad);
  }
}

}  // namespace bad_batches_test
}  // namespace paceline::test
