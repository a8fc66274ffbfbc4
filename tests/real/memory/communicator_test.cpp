#include <gtest/gtest.h>

#include <thread>

#include "real/backends.h"
#include "tests/real/conformance/suite.h"

namespace paceline::test {
namespace {

constexpr ElementCount mebi(1 << 20);

std::vector<std::string> faults_on(std::uint32_t ranks, const Suite& suite) {
  return conformance_faults_in_threads(real::connect_memory, RankCount(ranks), suite);
}

TEST(MemoryBackend, DoesEveryAlgorithmOnOneToEightRanks) {
  for (std::uint32_t ranks = 1; ranks <= 8; ++ranks) {
    const Suite suite{{DataType::float32},
                      {ElementCount(0), ElementCount(1), ElementCount(7), ElementCount(30'011)},
                      ElementCount(0)};
    EXPECT_EQ(faults_on(ranks, suite), std::vector<std::string>());
  }
}

TEST(MemoryBackend, DoesEveryAlgorithmWithEveryType) {
  const Suite suite{
      test::all_data_types(), {ElementCount(5), ElementCount(2'003)}, ElementCount(0)};
  for (const std::uint32_t ranks : {3U, 4U, 8U}) {
    EXPECT_EQ(faults_on(ranks, suite), std::vector<std::string>());
  }
}

// 64 MiB of float32.
TEST(MemoryBackend, DoesLargeBuffersInPieces) {
  const Suite suite{{DataType::float32}, {ElementCount(700'001)}, mebi * 16};
  EXPECT_EQ(faults_on(3, suite), std::vector<std::string>());
}

TEST(MemoryBackend, KeepsGroupsApart) {
  const Suite suite{{DataType::int32}, {ElementCount(1'000)}, ElementCount(0)};
  std::vector<std::string> first, second;
  {
    std::jthread other([&] { second = faults_on(4, suite); });
    first = faults_on(2, suite);
  }
  EXPECT_EQ(first, std::vector<std::string>());
  EXPECT_EQ(second, std::vector<std::string>());
}

}  // namespace
}  // namespace paceline::test
