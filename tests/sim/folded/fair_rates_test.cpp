#include "sim/folded/fair_rates.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <vector>

namespace paceline::sim {
namespace {

// In GB/s.
std::vector<double> rates(const Island& island, const std::vector<std::uint64_t>& flows) {
  std::vector<double> found(flows.size());
  std::vector<std::uint32_t> all(flows.size());
  std::iota(all.begin(), all.end(), 0U);
  FairRates(island).find(flows, all, found);
  for (double& rate : found) rate /= 1e9;
  return found;
}

BytesPerSecond gigabytes(double amount) { return BytesPerSecond(1e9 * amount); }

// Links of 6 and 10 GB/s, one flow through both and one through each. The narrower link gives 3 to
// both of its flows, and the flow alone with the long one on the wider link gets 10 - 3 = 7.
TEST(FairRates, GiveAFlowWhatANarrowerLinkKeepsAnotherFromTaking) {
  EXPECT_EQ(rates({{gigabytes(6), gigabytes(10)}, {{0, 1}, {0}, {1}}}, {1, 1, 1}),
            (std::vector<double>{3, 3, 7}));
}

// Links of 1, 2 and 4 GB/s in a row, one flow over all, and one, two and no others on each: 0.5
// over all, 0.5 on the first, (2 - 0.5) / 2 on the second.
TEST(FairRates, FillOneLinkAfterTheOther) {
  EXPECT_EQ(
      rates({{gigabytes(1), gigabytes(2), gigabytes(4)}, {{0, 1, 2}, {0}, {1}, {2}}}, {1, 1, 2, 0}),
      (std::vector<double>{0.5, 0.5, 0.75, 0}));
}

// Ways over links 0, 0 and 1, and 1. With flows on the second way all are joined: both links are
// visited with their two ways each, and filled one after the other. When those have gone, what
// changes on link 0 leaves link 1 alone.
TEST(FairRates, LookAtNoMoreThanWhatChanges) {
  using Flows = std::vector<std::uint64_t>;
  using Ways = std::vector<std::uint32_t>;
  FairRates fair({{gigabytes(6), gigabytes(8)}, {{0}, {0, 1}, {1}}});
  std::vector<double> found(3);
  EXPECT_EQ(fair.find(Flows{2, 1, 1}, Ways{0, 1, 2}, found), 2U * 2 + 2 + 1);
  EXPECT_EQ(found, (std::vector<double>{2e9, 2e9, 6e9}));
  EXPECT_EQ(fair.find(Flows{2, 0, 1}, Ways{1}, found), 2U * 2 + 2 + 1);
  EXPECT_EQ(found, (std::vector<double>{3e9, 0, 8e9}));
  EXPECT_EQ(fair.find(Flows{1, 0, 1}, Ways{0}, found), 2U + 1);
  EXPECT_EQ(found, (std::vector<double>{6e9, 0, 8e9}));
  EXPECT_EQ(fair.find(Flows{0, 0, 1}, Ways{0}, found), 2U);
  EXPECT_EQ(found, (std::vector<double>{0, 0, 8e9}));
}

// A GPU's link to its host of 24 GB/s in front of its NIC of 12, and a second GPU's: only the NIC
// is looked at, with its two ways, and filled.
TEST(FairRates, LeaveOutLinksThatNeverFill) {
  FairRates fair({{gigabytes(24), gigabytes(24), gigabytes(12)}, {{0, 2}, {1, 2}}});
  std::vector<double> found(2);
  const auto effort =
      fair.find(std::vector<std::uint64_t>{1, 1}, std::vector<std::uint32_t>{0, 1}, found);
  EXPECT_EQ(found, (std::vector<double>{6e9, 6e9}));
  EXPECT_EQ(effort, 2U + 1U);
}

// What crosses the first link goes on through the second, which is as narrow: the second fills. The
// third is wider, but has flows of its own.
TEST(FairRates, DropNoLinkThatMayFill) {
  EXPECT_EQ(rates({{gigabytes(6), gigabytes(6), gigabytes(9)}, {{0, 1}, {1, 2}, {2}}}, {1, 1, 4}),
            (std::vector<double>{4.2, 1.8, 1.8}));
}

}  // namespace
}  // namespace paceline::sim
