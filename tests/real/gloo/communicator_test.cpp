#include <gtest/gtest.h>

#include <cstdlib>
#include <future>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "real/backends.h"
#include "real/errors.h"
#include "tests/real/conformance/suite.h"

namespace paceline::test {
namespace {

constexpr ElementCount mebi(1 << 20);

std::vector<std::string> faults_on(std::uint32_t ranks, const Suite& suite) {
  return conformance_faults_in_threads(real::connect_gloo, RankCount(ranks), suite);
}

// While it lives, gloo is told to use that interface.
class Interface {
 public:
  explicit Interface(const char* name) {
    if (const char* before = std::getenv(variable)) before_ = before;
    ::setenv(variable, name, 1);
  }
  Interface(const Interface&) = delete;
  Interface& operator=(const Interface&) = delete;
  ~Interface() {
    if (before_) {
      ::setenv(variable, before_->c_str(), 1);
    } else {
      ::unsetenv(variable);
    }
  }

 private:
  static constexpr const char* variable = "GLOO_SOCKET_IFNAME";
  std::optional<std::string> before_;
};

real::ConnectRequest request_of(Rank rank, RankCount ranks, real::Meeting& meeting,
                                Seconds timeout) {
  real::ConnectRequest request;
  request.rank = rank;
  request.size = ranks;
  request.local_rank = rank.value();
  request.timeout = timeout;
  request.address = "127.0.0.1";
  request.meeting = &meeting;
  return request;
}

bool is_line_with(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos && text.find('\n') == std::string::npos;
}

real::Message message(real::Message::Kind kind, Rank peer, real::Buffer& buffer) {
  return {kind, peer, &buffer, {ElementCount(0), buffer.count()}};
}

TEST(GlooBackend, DoesEveryAlgorithmOnOneToEightRanks) {
  for (std::uint32_t ranks = 1; ranks <= 8; ++ranks) {
    const Suite suite{{DataType::float32},
                      {ElementCount(0), ElementCount(1), ElementCount(7), ElementCount(30'011)},
                      ElementCount(0)};
    EXPECT_EQ(faults_on(ranks, suite), std::vector<std::string>());
  }
}

TEST(GlooBackend, DoesEveryAlgorithmWithEveryType) {
  const Suite suite{
      test::all_data_types(), {ElementCount(5), ElementCount(2'003)}, ElementCount(0)};
  for (const std::uint32_t ranks : {3U, 4U, 8U}) {
    EXPECT_EQ(faults_on(ranks, suite), std::vector<std::string>());
  }
}

// 64 MiB of float32.
TEST(GlooBackend, DoesLargeBuffersInPieces) {
  const Suite suite{{DataType::float32}, {ElementCount(700'001)}, mebi * 16};
  EXPECT_EQ(faults_on(3, suite), std::vector<std::string>());
}

TEST(GlooBackend, UsesTheInterfaceItIsToldTo) {
  const Interface loopback("lo");
  const Suite suite{{DataType::int32}, {ElementCount(100)}, ElementCount(0)};
  const auto faults = with_threads(RankCount(2), [&](Rank rank, real::Meeting& meeting) {
    auto request = request_of(rank, RankCount(2), meeting, Seconds(60));
    request.address = "192.0.2.1";  // of documentation (RFC 5737): no machine has it
    const auto communicator = real::connect_gloo(request);
    auto all = conformance_faults(*communicator, suite);
    (void)meeting.all_gather("");
    return all;
  });
  EXPECT_EQ(faults, std::vector<std::string>());
}

TEST(GlooBackend, SaysInOneLineThatAnInterfaceIsNotThere) {
  const Interface missing("nonesuch0");
  const auto said =
      with_threads(RankCount(1), [](Rank rank, real::Meeting& meeting) -> std::vector<std::string> {
        (void)real::connect_gloo(request_of(rank, RankCount(1), meeting, Seconds(60)));
        return {};
      });
  ASSERT_EQ(said.size(), 1U);
  EXPECT_TRUE(said[0].starts_with("gloo: rank 0: CreateDevice: ")) << said[0];
  EXPECT_TRUE(is_line_with(said[0], "nonesuch0")) << said[0];
}

TEST(GlooBackend, SaysThatAnAddressIsOfAnotherMachine) {
  const auto said =
      with_threads(RankCount(1), [](Rank rank, real::Meeting& meeting) -> std::vector<std::string> {
        auto request = request_of(rank, RankCount(1), meeting, Seconds(60));
        request.address = "192.0.2.1";
        (void)real::connect_gloo(request);
        return {};
      });
  EXPECT_EQ(said, std::vector<std::string>(
                      {"gloo: rank 0: bind: 192.0.2.1 is no address of this machine"}));
}

// What ranks 0 and 2 say when rank 1 leaves at once and they call `use` on what is left.
std::vector<std::string> without_rank_1(
    const std::function<void(real::Communicator&, real::Buffer&)>& use) {
  return with_threads(RankCount(3),
                      [&](Rank rank, real::Meeting& meeting) -> std::vector<std::string> {
                        // Far longer than it takes to see a connection close.
                        const auto request = request_of(rank, RankCount(3), meeting, Seconds(30));
                        auto communicator = real::connect_gloo(request);
                        (void)meeting.all_gather("");
                        if (rank == Rank(1)) return {};
                        const auto buffer = communicator->allocate(DataType::float32, mebi);
                        try {
                          use(*communicator, *buffer);
                        } catch (const real::BackendError& error) {
                          return {error.what()};
                        }
                        return {"nothing"};
                      });
}

TEST(GlooBackend, ReportsThatAPeerHasVanishedToItsReceiver) {
  const auto said = without_rank_1([](real::Communicator& communicator, real::Buffer& buffer) {
    const real::Message receive[] = {message(real::Message::Kind::receive, Rank(1), buffer)};
    communicator.post(receive, 0).front()->wait();
  });
  ASSERT_EQ(said.size(), 2U);
  for (const auto& line : said) EXPECT_TRUE(is_line_with(line, "gloo: rank ")) << line;
}

TEST(GlooBackend, ReportsThatAPeerHasVanishedToItsSender) {
  const auto said = without_rank_1([](real::Communicator& communicator, real::Buffer& buffer) {
    const real::Message send[] = {message(real::Message::Kind::send, Rank(1), buffer)};
    communicator.post(send, 0).front()->wait();
  });
  ASSERT_EQ(said.size(), 2U);
  for (const auto& line : said) EXPECT_TRUE(is_line_with(line, "gloo: rank ")) << line;
}

TEST(GlooBackend, ReportsThatAPeerHasVanishedToAnAllReduce) {
  const auto said = without_rank_1([](real::Communicator& communicator, real::Buffer& buffer) {
    communicator.native({collectives::Collective::all_reduce, &buffer, buffer.count(), Rank(0), 0})
        ->wait();
  });
  ASSERT_EQ(said.size(), 2U);
  for (const auto& line : said) EXPECT_TRUE(is_line_with(line, ": allreduce: ")) << line;
}

// Rank 1 leaves when all know each other's addresses; rank 0 connects only after that, since it may
// be the one that calls, and a rank that is leaving still hears it.
class LeavesAfterTheMeeting : public real::Meeting {
 public:
  LeavesAfterTheMeeting(Rank rank, real::Meeting& meeting, std::shared_future<void> is_gone)
      : rank_(rank), meeting_(meeting), is_gone_(std::move(is_gone)) {}
  std::vector<std::string> all_gather(std::string text) override {
    auto all = meeting_.all_gather(std::move(text));
    if (++rounds_ != 2) return all;
    if (rank_ == Rank(1)) throw std::runtime_error("gone");
    is_gone_.wait();
    return all;
  }

 private:
  Rank rank_;
  real::Meeting& meeting_;
  std::shared_future<void> is_gone_;
  int rounds_ = 0;  // the second is that of addresses
};

TEST(GlooBackend, ReportsThatAPeerDoesNotConnect) {
  std::promise<void> rank_1_is_gone;
  const auto is_gone = rank_1_is_gone.get_future().share();
  const auto said = with_threads(
      RankCount(2), [&](Rank rank, real::Meeting& meeting) -> std::vector<std::string> {
        LeavesAfterTheMeeting leaves(rank, meeting, is_gone);
        try {
          (void)real::connect_gloo(request_of(rank, RankCount(2), leaves, Seconds(0.2)));
        } catch (const real::BackendError&) {
          if (rank == Rank(1)) rank_1_is_gone.set_value();
          throw;
        }
        return {};
      });
  ASSERT_EQ(said.size(), 2U);
  EXPECT_TRUE(is_line_with(said[0], "gloo: rank 0: connectFullMesh: ")) << said[0];
  EXPECT_EQ(said[1], "gloo: rank 1: connectFullMesh: gone");
}

TEST(GlooBackend, GivesUpAfterTheTimeoutWhenAPeerIsSilent) {
  const auto said = with_threads(
      RankCount(2), [&](Rank rank, real::Meeting& meeting) -> std::vector<std::string> {
        // Long enough to connect.
        const auto request = request_of(rank, RankCount(2), meeting, Seconds(2));
        const auto communicator = real::connect_gloo(request);
        std::vector<std::string> trouble;
        if (rank == Rank(0)) {
          const auto buffer = communicator->allocate(DataType::float32, ElementCount(10));
          const real::Message receive[] = {message(real::Message::Kind::receive, Rank(1), *buffer)};
          const auto event = std::move(communicator->post(receive, 7).front());
          const Seconds start = real::steady_now();
          try {
            event->wait();
          } catch (const real::BackendError& error) {
            trouble.emplace_back(error.what());
          }
          EXPECT_GE(real::steady_now() - start, Seconds(2));
        }
        (void)meeting.all_gather("");
        return trouble;
      });
  EXPECT_EQ(said, std::vector<std::string>({"gloo: rank 0: waitRecv: Timed out waiting 2000ms for "
                                            "recv operation to complete"}));
}

}  // namespace
}  // namespace paceline::test
