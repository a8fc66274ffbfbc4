#include <gtest/gtest.h>

#include <algorithm>

#include "real/backends.h"
#include "real/errors.h"
#include "tests/real/cuda/gpu.h"

namespace paceline::test {
namespace {

std::size_t gpus() {
  std::size_t count = 0;
  for (const real::Backend& row : real::backends()) {
    if (row.name != "nccl") continue;
    for (const std::string& note : row.notes) {
      if (note.rfind("device ", 0) == 0) ++count;
    }
  }
  return count;
}

TEST(NcclBackend, ReadsTheVersionOfItsLibraryWithoutADevice) {
  for (const real::Backend& row : real::backends()) {
    if (row.name != "nccl") continue;
    EXPECT_EQ(std::ranges::count(row.version, '.'), 2) << row.version;
  }
}

TEST(NcclBackend, RefusesAtOnceWithoutADevice) {
  if (gpu_missing().empty()) GTEST_SKIP() << "there is a device";
  const Seconds start = real::steady_now();
  const std::string said = refusal_of(real::connect_nccl);
  EXPECT_EQ(said.rfind("nccl: rank 0: no CUDA device", 0), 0U) << said;
  EXPECT_NE(said.find("use --backend gloo"), std::string::npos) << said;
  EXPECT_EQ(said.find('\n'), std::string::npos) << said;
  EXPECT_LT(real::steady_now() - start, Seconds(30));
}

// A rank that cannot take part says so to the others, who would wait for it.
TEST(NcclBackend, RefusesOnEveryRankWithoutADevice) {
  if (gpu_missing().empty()) GTEST_SKIP() << "there is a device";
  const auto said = conformance_faults_in_threads(real::connect_nccl, RankCount(3), {});
  EXPECT_EQ(said.size(), 3U);
}

TEST(NcclBackend, DoesEverythingAloneOnADevice) {
  if (const auto missing = gpu_missing(); !missing.empty()) GTEST_SKIP() << missing;
  const Suite suite{test::all_data_types(),
                    {ElementCount(0), ElementCount(1), ElementCount(30'011)},
                    ElementCount(1 << 22)};
  EXPECT_EQ(conformance_faults_in_threads(real::connect_nccl, RankCount(1), suite),
            std::vector<std::string>());
}

TEST(NcclBackend, DoesEverythingOnEveryNumberOfDevices) {
  if (gpus() < 2) GTEST_SKIP() << "fewer than two CUDA devices";
  for (std::uint32_t ranks = 2; ranks <= gpus(); ++ranks) {
    const Suite suite{test::all_data_types(),
                      {ElementCount(0), ElementCount(1), ElementCount(7), ElementCount(30'011)},
                      ElementCount(1 << 22)};
    EXPECT_EQ(conformance_faults_in_threads(real::connect_nccl, RankCount(ranks), suite),
              std::vector<std::string>());
  }
}

// Its kernel ends only because the group is given up; memory could not be freed before.
TEST(NcclBackend, GivesUpACollectiveThatARankLeavesOut) {
  if (gpus() < 2) GTEST_SKIP() << "fewer than two CUDA devices";
  const auto said = with_threads(RankCount(2), [&](Rank rank, real::Meeting& meeting) {
    real::ConnectRequest request;
    request.rank = rank;
    request.size = RankCount(2);
    request.local_rank = rank.value();
    request.timeout = Seconds(2);
    request.meeting = &meeting;
    const auto communicator = real::connect_nccl(request);
    std::vector<std::string> errors;
    try {
      const ElementCount count(1000);
      const auto buffer = communicator->allocate(DataType::float32, count);
      const real::NativeCall call{collectives::Collective::all_reduce, buffer.get(), count, Rank(0),
                                  0};
      communicator->native(call)->wait();
      if (rank == Rank(0)) communicator->native(call)->wait();
    } catch (const real::BackendError& error) {
      errors.emplace_back(error.what());
    }
    (void)meeting.all_gather("");
    return errors;
  });
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(said[0].rfind("nccl: rank 0: wait: no end within 2.", 0), 0U) << said[0];
}

TEST(NcclBackend, RefusesTwoRanksOnADevice) {
  if (gpus() != 1) GTEST_SKIP() << "not one CUDA device";
  const auto said = conformance_faults_in_threads(real::connect_nccl, RankCount(2), {});
  ASSERT_EQ(said.size(), 2U);
  EXPECT_EQ(said[0],
            "nccl: rank 0: ranks 0 and 1 are on one GPU, which NCCL refuses: use --backend gloo "
            "for several processes on one GPU");
}

}  // namespace
}  // namespace paceline::test
