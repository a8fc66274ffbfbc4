#include <gtest/gtest.h>
#include <pthread.h>

#include <csignal>
#include <string>
#include <variant>

#include "sim/flow/flow_step.h"
#include "tests/sim/points.h"
#include "traces/json/protocol.h"

namespace paceline::sim {
namespace {

using traces::Failure;

bool is_doomed = false;

void die_if_doomed() {
  if (is_doomed) ::raise(SIGKILL);
}

traces::Reply reply_of(const ResolvedPoint& point) {
  return traces::reply_from_line(reply_to(point), point.program);
}

TEST(SimulatedPoint, FailsWithItsSimulation) {
  ASSERT_EQ(::pthread_atfork(nullptr, nullptr, die_if_doomed), 0);
  const ResolvedPoint point = one_call(flat(4, 1e9, 1e-6), all_reduce("ring", 1000));
  EXPECT_TRUE(std::holds_alternative<Result>(reply_of(point)));
  is_doomed = true;
  const traces::Reply reply = reply_of(point);
  is_doomed = false;
  const auto* failure = std::get_if<Failure>(&reply);
  ASSERT_NE(failure, nullptr);
  EXPECT_EQ(failure->what, "the simulation was ended by Killed");
  EXPECT_FALSE(failure->refused);
}

}  // namespace
}  // namespace paceline::sim
