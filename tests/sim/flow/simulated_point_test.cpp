#include "sim/flow/simulated_point.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <limits>
#include <string>
#include <variant>

#include "tests/sim/points.h"
#include "traces/json/protocol.h"

namespace paceline::sim {
namespace {

using traces::Failure;

// Which of the children that this process makes is killed at once: 0 is the next one.
constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();
std::uint64_t children_to_spare = none;
bool is_doomed = false;

void decide() {
  is_doomed = children_to_spare == 0;
  if (children_to_spare != none) --children_to_spare;
}
void die_if_doomed() {
  if (is_doomed) ::raise(SIGKILL);
}

// The reply to a point, whose simulation with that number, counted from 0, is killed.
traces::Reply reply_with_killed(const ResolvedPoint& point, std::uint64_t simulation) {
  static const int failed = ::pthread_atfork(decide, nullptr, die_if_doomed);
  EXPECT_EQ(failed, 0);
  children_to_spare = simulation;
  const std::string line = reply_to(point);
  children_to_spare = none;
  return traces::reply_from_line(line, point.program);
}

void expect_killed(const traces::Reply& reply) {
  const auto* failure = std::get_if<Failure>(&reply);
  ASSERT_NE(failure, nullptr);
  EXPECT_EQ(failure->what, "the simulation was ended by Killed");
  EXPECT_FALSE(failure->refused);
}

bool has_note(const traces::Reply& reply, const std::string& text) {
  const auto* result = std::get_if<Result>(&reply);
  return result != nullptr && std::ranges::any_of(result->notes, [&](const std::string& note) {
           return note.find(text) != std::string::npos;
         });
}

// Trees over 128 nodes are not followed, but simulated over 32 and over 64; the third simulation is
// the step's.
ResolvedPoint deep_trees() {
  return one_call(flat(128, 1e9, 1e-6), all_reduce("double_binary_tree", 1'000'000));
}

TEST(SimulatedPoint, FailsWithTheSimulationOfACallAlone) {
  EXPECT_TRUE(has_note(reply_with_killed(deep_trees(), none), "as 2 simulated alone have it; by"));
  for (const std::uint64_t simulation : {0U, 1U, 2U}) {
    expect_killed(reply_with_killed(deep_trees(), simulation));
  }
}

// Trees send both ways between two ranks, so Gloo's notifications queue there, and 400 MB in chunks
// of 16 KiB are more than a million transfers.
TEST(SimulatedPoint, SaysWhyCallsAreTakenFromFormulas) {
  ResolvedPoint point = deep_trees();
  auto& call = std::get<training::CollectiveCall>(point.program.operations.front().work);
  call.count = ElementCount(100'000'000);
  simulated(call).options.chunk_size = Bytes(16 << 10);
  point.cluster.network.transport = topology::Transport::tcp;
  point.cluster.network.receives = topology::Receives::announced;
  EXPECT_TRUE(has_note(reply_with_killed(point, none),
                       "as 0 simulated alone have it, and 2 by formulas (ready notifications queue "
                       "behind data to the same rank)"));
}

ResolvedPoint automatic_call(std::uint32_t ranks, const training::AutomaticCall& automatic) {
  training::CollectiveCall call = all_reduce("", 1000);
  call.how = automatic;
  return one_call(flat(ranks, 1e9, 1e-6), call);
}

TEST(SimulatedPoint, FailsWithTheSimulationOfACandidate) {
  const ResolvedPoint point = automatic_call(8, {});
  EXPECT_TRUE(has_note(reply_with_killed(point, none), "auto, 8 GPUs: all_reduce of "));
  for (const std::uint64_t simulation : {0U, 3U}) {
    expect_killed(reply_with_killed(point, simulation));
  }
}

// Each of 6,400 ranks would send to each other: 41 million transfers a round are not written out.
TEST(SimulatedPoint, NamesCandidatesThatTakeTooMuch) {
  training::AutomaticCall automatic;
  automatic.options.servers = 2;
  EXPECT_TRUE(has_note(reply_with_killed(automatic_call(6400, automatic), none),
                       "auto, 6400 GPUs: all_reduce by direct left out: 6400 GPUs make rounds of "
                       "more transfers than fit in memory"));
}

}  // namespace
}  // namespace paceline::sim
