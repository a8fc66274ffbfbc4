#include "real/plan_runner.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "real/memory/communicator.h"
#include "tests/real/conformance/suite.h"

namespace paceline::test {
namespace {

using collectives::ElementRange;
using real::Buffer;
using real::EventPtr;
using real::Message;
using real::Stream;

// Threads that claim to send eagerly and are late at different times: plans have to wait for the
// ready notifications of new peers themselves.
class EagerCommunicator : public real::Communicator {
 public:
  explicit EagerCommunicator(std::unique_ptr<real::Communicator> inner)
      : Communicator(inner->rank(), inner->size()), inner_(std::move(inner)) {}

  [[nodiscard]] unsigned notifications() const { return notifications_; }

 private:
  std::unique_ptr<Buffer> do_allocate(DataType type, ElementCount count) override {
    return inner_->allocate(type, count);
  }
  std::vector<EventPtr> do_post(std::span<const Message> messages, Stream stream) override {
    if (stream % real::streams_a_call >= real::channels_max) ++notifications_;
    constexpr unsigned every = 7;
    if (++posts_ % every == rank().value() % every) {
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    return inner_->post(messages, stream);
  }
  void do_add(Buffer& to, ElementRange range, const Buffer& from, ElementCount begin,
              Stream stream) override {
    inner_->add(to, range, from, begin, stream);
  }
  void do_copy(Buffer& to, ElementRange range, const Buffer& from, ElementCount begin,
               Stream stream) override {
    inner_->copy(to, range, from, begin, stream);
  }
  bool do_in_order() const override { return false; }
  void do_finish(Stream /*stream*/) override {}
  Bytes do_piece() const override { return inner_->piece(); }
  bool do_sends_early() const override { return true; }
  bool do_has_native(collectives::Collective collective) const override {
    return inner_->has_native(collective);
  }
  EventPtr do_native(const real::NativeCall& call) override { return inner_->native(call); }
  EventPtr do_compute(Seconds start, Seconds duration) override {
    return inner_->compute(start, duration);
  }

  std::unique_ptr<real::Communicator> inner_;
  std::atomic<unsigned> posts_ = 0, notifications_ = 0;
};

TEST(PlanRunner, WaitsForNewPeersWhereMessagesAreEager) {
  std::atomic<unsigned> notifications = 0;
  for (const std::uint32_t ranks : {2U, 3U, 5U, 6U, 8U}) {
    const Suite suite{{DataType::float32},
                      {ElementCount(1), ElementCount(7), ElementCount(3'011)},
                      ElementCount(0)};
    const auto faults = with_threads(RankCount(ranks), [&](Rank rank, real::Meeting& meeting) {
      real::ConnectRequest request{rank, RankCount(ranks), rank.value(), Seconds(20), "", &meeting};
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
