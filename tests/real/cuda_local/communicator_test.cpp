#include <gtest/gtest.h>

#include "real/backends.h"
#include "tests/real/cuda/gpu.h"

namespace paceline::test {
namespace {

std::vector<std::string> faults_on(std::uint32_t ranks, const Suite& suite) {
  return conformance_faults_in_threads(real::connect_cuda_local, RankCount(ranks), suite);
}

TEST(CudaLocalBackend, RefusesAtOnceWithoutADevice) {
  if (gpu_missing().empty()) GTEST_SKIP() << "there is a device";
  const std::string said = refusal_of(real::connect_cuda_local);
  EXPECT_EQ(said.rfind("cuda-local: rank 0: no CUDA device", 0), 0U) << said;
  EXPECT_NE(said.find("use --backend memory"), std::string::npos) << said;
}

TEST(CudaLocalBackend, DoesEveryAlgorithmOnOneToEightRanks) {
  if (const auto missing = gpu_missing(); !missing.empty()) GTEST_SKIP() << missing;
  for (std::uint32_t ranks = 1; ranks <= 8; ++ranks) {
    const Suite suite{{DataType::float32},
                      {ElementCount(0), ElementCount(1), ElementCount(7), ElementCount(30'011)},
                      ElementCount(1 << 22)};
    EXPECT_EQ(faults_on(ranks, suite), std::vector<std::string>());
  }
}

// 2,003 elements among 3 ranks: chunks that begin at no multiple of 16 bytes, and some that do.
TEST(CudaLocalBackend, DoesEveryAlgorithmWithEveryType) {
  if (const auto missing = gpu_missing(); !missing.empty()) GTEST_SKIP() << missing;
  const Suite suite{test::all_data_types(),
                    {ElementCount(5), ElementCount(2'003), ElementCount(4'096)},
                    ElementCount(0)};
  for (const std::uint32_t ranks : {3U, 4U}) {
    EXPECT_EQ(faults_on(ranks, suite), std::vector<std::string>());
  }
}

TEST(CudaLocalBackend, GivesUpAMessageThatIsNeverSent) {
  if (const auto missing = gpu_missing(); !missing.empty()) GTEST_SKIP() << missing;
  const auto said = with_threads(RankCount(2), [&](Rank rank, real::Meeting& meeting) {
    real::ConnectRequest request;
    request.rank = rank;
    request.size = RankCount(2);
    request.timeout = Seconds(0.2);
    request.meeting = &meeting;
    const auto communicator = real::connect_cuda_local(request);
    if (rank == Rank(1)) return std::vector<std::string>();
    const auto buffer = communicator->allocate(DataType::float32, ElementCount(4));
    const real::Message message{
        real::Message::Kind::receive, Rank(1), buffer.get(), {ElementCount(0), ElementCount(4)}};
    (void)communicator->post({&message, 1}, 0);
    return std::vector<std::string>{"no error"};
  });
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(said[0].rfind("cuda-local: rank 0: receive: no end within 0.2", 0), 0U) << said[0];
}

// A device's clock ticks every microsecond at worst; the rest is the start of the kernel and the
// wait, on a machine that may be busy.
TEST(CudaLocalBackend, ComputesForTheDurationThatIsAsked) {
  if (const auto missing = gpu_missing(); !missing.empty()) GTEST_SKIP() << missing;
  const auto said = alone([&](const real::ConnectRequest& request) {
    const auto communicator = real::connect_cuda_local(request);
    communicator->compute(real::steady_now(), Seconds(0))->wait();  // loads the kernel
    const Seconds start = real::steady_now();
    communicator->compute(start, Seconds(0.02))->wait();
    communicator->compute(start, Seconds(0.03))->wait();
    const double took = (real::steady_now() - start).value();
    if (took > 0.0499 && took < 0.2) return std::vector<std::string>();
    return std::vector<std::string>{std::to_string(took)};
  });
  EXPECT_EQ(said, std::vector<std::string>());
}

}  // namespace
}  // namespace paceline::test
