#include "real/plan_runner.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "real/backends.h"
#include "tests/real/conformance/suite.h"
#include "tests/real/forwarding_communicator.h"

namespace paceline::test {
namespace {

using real::EventPtr;
using real::Message;
using real::Stream;

// Threads that claim to send eagerly and are late at different times: plans have to wait for the
// ready notifications of new peers themselves.
class EagerCommunicator : public ForwardingCommunicator {
 public:
  using ForwardingCommunicator::ForwardingCommunicator;

  [[nodiscard]] unsigned notifications() const { return notifications_; }

 private:
  std::vector<EventPtr> do_post(std::span<const Message> messages, Stream stream) override {
    if (stream % real::streams_a_call >= real::channels_max) ++notifications_;
    constexpr unsigned every = 7;
    if (++posts_ % every == rank().value() % every) {
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    return ForwardingCommunicator::do_post(messages, stream);
  }
  bool sends_early() const override { return true; }

  std::atomic<unsigned> posts_ = 0, notifications_ = 0;
};

TEST(PlanRunner, WaitsForNewPeersWhereMessagesAreEager) {
  std::atomic<unsigned> notifications = 0;
  for (const std::uint32_t ranks : {2U, 3U, 5U, 6U, 8U}) {
    const Suite suite{{DataType::float32},
                      {ElementCount(1), ElementCount(7), ElementCount(3'011)},
                      ElementCount(0)};
    const auto faults = with_threads(RankCount(ranks), [&](Rank rank, real::Meeting& meeting) {
      real::ConnectRequest request{rank, RankCount(ranks), rank.value(), Seconds(60), "", &meeting};
      EagerCommunicator communicator(real::connect_memory(request));
      auto found = conformance_faults(communicator, suite);
      notifications += communicator.notifications();
      return found;
    });
    EXPECT_EQ(faults, std::vector<std::string>()) << ranks << " ranks";
  }
  EXPECT_GT(notifications, 100U);
}

}  // namespace
}  // namespace paceline::test
