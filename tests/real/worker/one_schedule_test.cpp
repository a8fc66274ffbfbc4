// What ranks on hardware start, and when, is what the scheduler says of the ends that they had. A
// busy machine wakes threads up late, so that ends come in another order than on an idle one: what
// is asserted holds in any order.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "models/run/as_it_ran.h"
#include "models/training/scheduler.h"
#include "real/backends.h"
#include "real/step_runner.h"
#include "sim/folded/predicted_point.h"
#include "tests/models/training/random_programs.h"
#include "tests/real/conformance/suite.h"
#include "tests/real/forwarding_communicator.h"
#include "tests/real/worker/on_threads.h"

namespace paceline::test {
namespace {

using training::Interval;
using training::OperationId;

constexpr Seconds rounding(1e-6);  // of differences of a machine's uptime

ResolvedPoint point_of(training::StepProgram program, std::uint32_t ranks) {
  ResolvedPoint point;
  point.cluster.gpus_per_node = ranks;
  point.cluster.intra_node.bandwidth = BytesPerSecond(1e9);
  point.program = std::move(program);
  point.measure = MeasureSettings{CollectiveMode::plan, 2, 1};
  return point;
}

// Of times of a quarter: 0 to 5 ms.
training::StepProgram quick_program(std::mt19937_64& random, std::uint32_t ranks,
                                    training::CallsAre calls) {
  auto program = training::random_program(random, RankCount(ranks), calls);
  for (training::Operation& operation : program.operations) {
    if (auto* time = std::get_if<Seconds>(&operation.work)) {
      *time = *time / 4;
    } else {
      auto& call = std::get<training::CollectiveCall>(operation.work);
      call = training::known_call(call.known()->time / 4);
    }
  }
  return program;
}

// What a rank's run breaks of a schedule's rules.
class Faults {
 public:
  Faults(const ResolvedPoint& point, Rank rank, const std::vector<Interval>& ran)
      : program_(point.program), ran_(ran), queues_(point.program) {
    for (OperationId id = 0; id < ran.size(); ++id) {
      const auto* time = std::get_if<Seconds>(&program_.operations[id].work);
      const double slowdown = slowdown_of(point, program_.operations[id], rank);
      free_at_.push_back(time == nullptr ? ran[id].end : ran[id].start + *time * slowdown);
    }
  }

  std::string text() {
    for (OperationId id = 0; id < ran_.size(); ++id) {
      for (const OperationId before : program_.operations[id].after) {
        if (is_before_end(id, before)) say(id, "does not wait for", before);
      }
      judge_release(id);
    }
    for (training::LaneId lane = 0; lane < program_.lanes.size(); ++lane) judge_lane(lane);
    return text_;
  }

 private:
  void say(OperationId id, const char* what, OperationId other) {
    text_ += std::to_string(id) + ' ' + what + ' ' + std::to_string(other) + "; ";
  }
  [[nodiscard]] bool is_before_end(OperationId id, OperationId other) const {
    return ran_[id].start < free_at_[other] - rounding;
  }

  // Compute begins when it is released, whenever its thread wakes up; calls when they are made.
  void judge_release(OperationId id) {
    const auto by = ran_[id].released_by;
    const Seconds released = by ? free_at_[*by] : Seconds(0);
    const Seconds late = ran_[id].start - released;
    const bool is_call = call_of(program_.operations[id]) != nullptr;
    if (late + rounding < Seconds(0) || (!is_call && late > rounding))
      say(id, "is not released by", by.value_or(id));
  }

  void judge_lane(training::LaneId lane) {
    const auto queue = queues_.of(lane);
    for (std::size_t place = 0; place < queue.size(); ++place) {
      const auto before = queue.first(place);
      if (place > 0 && ran_[queue[place]].start < ran_[before.back()].start - rounding) {
        say(queue[place], "overtakes", before.back());
      }
      const auto running = std::ranges::count_if(
          before, [&](OperationId other) { return is_before_end(queue[place], other); });
      if (running >= program_.lanes[lane].in_flight) say(queue[place], "has no slot in", lane);
    }
  }

  const training::StepProgram& program_;
  const std::vector<Interval>& ran_;
  training::LaneQueues queues_;
  std::vector<Seconds> free_at_;  // when an operation was over for those that waited for it
  std::string text_;
};

// Nor is any operation earlier than on a machine that is never late.
TEST(OneSchedule, RealRanksStartOperationsWhenTheScheduleReleasesThem) {
  constexpr std::uint32_t ranks = 2;
  std::mt19937_64 random(5);
  for (int i = 0; i < 20; ++i) {
    const auto point = point_of(quick_program(random, ranks, training::CallsAre::known), ranks);
    const Result measured = measured_on_threads(point, ranks);
    const Result never_late = sim::predict_folded(point);
    const auto real = by_rank(measured.trace), ideal = by_rank(never_late.trace);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      EXPECT_EQ(Faults(point, Rank(rank), *real[rank]).text(), "") << "program " << i;
      for (OperationId id = 0; id < real[rank]->size(); ++id) {
        EXPECT_GE((*real[rank])[id].start, (*ideal[rank])[id].start - rounding)
            << "program " << i << ", operation " << id;
        EXPECT_GE((*real[rank])[id].end, (*ideal[rank])[id].end - rounding)
            << "program " << i << ", operation " << id;
      }
    }
  }
}

// Without calls and with a slot a lane nothing is left to chance: compute starts at the same times.
TEST(OneSchedule, RealRanksComputeAtTheSameTimesAsInClosed) {
  constexpr std::uint32_t ranks = 2;
  std::mt19937_64 random(6);
  for (int i = 0; i < 10; ++i) {
    auto program = quick_program(random, ranks, training::CallsAre::compute);
    for (training::Lane& lane : program.lanes) lane.in_flight = 1;
    const auto point = point_of(std::move(program), ranks);
    const Result measured = measured_on_threads(point, ranks);
    const Result predicted = sim::predict_folded(point);
    const auto real = by_rank(measured.trace), expected = by_rank(predicted.trace);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      for (OperationId id = 0; id < real[rank]->size(); ++id) {
        EXPECT_NEAR((*real[rank])[id].start.value(), (*expected[rank])[id].start.value(),
                    rounding.value())
            << "program " << i << ", operation " << id;
      }
    }
  }
}

// The first call of three_calls_in_two_slots lasts until the third is made, whatever that takes.
class FirstCallWaitsForTheThird : public ForwardingCommunicator {
 public:
  using ForwardingCommunicator::ForwardingCommunicator;

 private:
  struct Wait : real::Event {
    explicit Wait(std::future<void> until) : until_(std::move(until)) {}
    // Only a third call that waits for the first is not made within it.
    void do_wait() override { (void)until_.wait_for(std::chrono::seconds(30)); }
    std::future<void> until_;
  };

  real::EventPtr do_compute(Seconds start, Seconds duration) override {
    if (duration == Seconds(0.1)) return std::make_unique<Wait>(third_is_made_.get_future());
    if (++short_calls_ == 2) third_is_made_.set_value();
    return ForwardingCommunicator::do_compute(start, duration);
  }

  std::promise<void> third_is_made_;
  std::atomic<int> short_calls_ = 0;
};

TEST(OneSchedule, RealRanksStartACallInWhicheverSlotIsFreeFirst) {
  constexpr RankCount ranks(2);
  const auto point = point_of(training::three_calls_in_two_slots(), ranks.value());
  const auto said = with_threads(ranks, [&](Rank rank, real::Meeting& meeting) {
    FirstCallWaitsForTheThird communicator(
        real::connect_memory({rank, ranks, rank.value(), Seconds(60), "", &meeting}));
    const auto ran = real::StepRunner(point, communicator).run(real::steady_now());
    EXPECT_EQ(ran[2].released_by, std::optional<OperationId>(1));
    EXPECT_GE(ran[2].start, Seconds(0.01));
    EXPECT_LT(ran[2].start, ran[0].end);
    return std::vector<std::string>();
  });
  EXPECT_EQ(said, std::vector<std::string>());
}

}  // namespace
}  // namespace paceline::test
