#include "models/registered_rows.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "models/collectives/registry.h"

namespace paceline {
namespace {

constexpr std::array tree{1, 2};

const auto are_equal = [](int a, int b) { return a == b; };

std::vector<int> rows_of(const RegisteredRows<int>& rows) {
  return {rows.all().begin(), rows.all().end()};
}

TEST(RegisteredRows, AreThoseOfTheTreeAndThenThoseThatWereAdded) {
  RegisteredRows<int> rows(tree);
  rows.add(9, are_equal);
  rows.add(5, are_equal);
  EXPECT_EQ(rows_of(rows), (std::vector{1, 2, 9, 5}));
  const int* const before = rows.all().data();
  EXPECT_EQ(rows.all().data(), before);
}

TEST(RegisteredRowsDeathTest, TakeNoRowTwiceAndNoneOnceTheyWereLookedUp) {
  RegisteredRows<int> rows(tree);
  EXPECT_DEATH(rows.add(2, are_equal), "contract broken");
  rows.add(3, are_equal);
  (void)rows.all();
  EXPECT_DEATH(rows.add(4, are_equal), "contract broken");
}

TEST(RegisteredRowsDeathTest, OfAlgorithmsHaveNamesOfTheirOwn) {
  using collectives::Algorithm;
  using collectives::Collective;
  const auto* ring = collectives::find_algorithm(Collective::all_reduce, "ring");
  EXPECT_DEATH(collectives::add_algorithm(Algorithm{Collective::all_reduce, "other", ring->build,
                                                    "after the first look-up"}),
               "contract broken");
}

}  // namespace
}  // namespace paceline
