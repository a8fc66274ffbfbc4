#include <gtest/gtest.h>

#include "models/training/deepspeed.h"
#include "tests/models/training/two_layers.h"

namespace paceline::training {
namespace {

constexpr std::uint64_t no_end = 1'000'000;

FetchRule fetch_rule(std::uint64_t prefetch, std::uint64_t live, std::uint64_t reuse,
                     std::uint64_t threshold = 0) {
  return {ElementCount(prefetch), ElementCount(live), ElementCount(reuse), ElementCount(threshold)};
}

// Layers of ten floats each.
std::vector<workload::TimedLayer> tens(std::size_t count) {
  return std::vector(count, layer_of("ten", 1, 1, 10));
}

// By visit: what is fetched for it, then "+" and what is fetched ahead.
std::vector<std::string> told(const FetchPlan& plan) {
  std::vector<std::string> words;
  const auto names = [&](std::optional<std::size_t> fetch) {
    std::string text;
    if (!fetch) return text;
    for (const std::size_t tensor : plan.fetches[*fetch]) text += static_cast<char>('a' + tensor);
    return text;
  };
  for (const Visit& visit : plan.visits)
    words.push_back(names(visit.own) + "+" + names(visit.ahead));
  return words;
}

std::vector<std::string> fetched(std::size_t layers, const FetchRule& rule) {
  return told(plan_fetches(tens(layers), {}, rule));
}

using Words = std::vector<std::string>;

// Visits: the model, a, b, c, the model again, c, b, a.

// The trace goes on into the backward, so that all of it is passed over and kept.
TEST(FetchPlan, FetchesAModelOfLessThanABucketOnce) {
  EXPECT_EQ(fetched(3, fetch_rule(100, no_end, 0)),
            (Words{"+abc", "+", "+", "+", "+", "+", "+", "+"}));
}

TEST(FetchPlan, FetchesWhatIsNeededWithoutABucket) {
  EXPECT_EQ(fetched(3, fetch_rule(0, no_end, 0)),
            (Words{"+", "a+", "b+", "c+", "+", "c+", "b+", "a+"}));
}

// One ahead. At c's forward its own backward is passed over, so that c stays and b comes; and a at
// the beginning of the backward.
TEST(FetchPlan, FetchesABucketAheadOfEachVisit) {
  EXPECT_EQ(fetched(3, fetch_rule(10, no_end, 0)),
            (Words{"+a", "+b", "+c", "+b", "+a", "+", "+", "+"}));
}

// A bucket of 11 is not full with one layer, and above itself with two; c is all that is left.
TEST(FetchPlan, TakesTheLastOneAboveTheBucket) {
  EXPECT_EQ(fetched(3, fetch_rule(11, no_end, 0)),
            (Words{"+ab", "+c", "+", "+", "+", "+", "+", "+"}));
}

// Of 20 elements at once: b while a runs, c and b again as before; a has room when c has run its
// backward.
TEST(FetchPlan, KeepsToWhatMayBeLive) {
  EXPECT_EQ(fetched(3, fetch_rule(10, 20, 0)),
            (Words{"+a", "+b", "+c", "+b", "+", "+", "+a", "+"}));
  // Nothing is ahead of what runs, but at the beginning of a pass's halves.
  EXPECT_EQ(fetched(3, fetch_rule(10, 10, 0)),
            (Words{"+a", "+", "b+", "c+", "+c", "+", "b+", "a+"}));
}

// After its forward c comes at once, b behind 10 + 10 elements, a behind 20 + 20.
TEST(FetchPlan, KeepsWhatComesAgainSoon) {
  const auto again = [](std::uint64_t reuse) { return fetched(3, fetch_rule(0, no_end, reuse)); };
  EXPECT_EQ(again(1), (Words{"+", "a+", "b+", "c+", "+", "+", "b+", "a+"}));
  EXPECT_EQ(again(20), (Words{"+", "a+", "b+", "c+", "+", "+", "b+", "a+"}));
  EXPECT_EQ(again(21), (Words{"+", "a+", "b+", "c+", "+", "+", "+", "a+"}));
  EXPECT_EQ(again(41), (Words{"+", "a+", "b+", "c+", "+", "+", "+", "+"}));
}

TEST(FetchPlan, NeverFetchesPersistentTensors) {
  auto layers = tens(2);
  layers[0].parameters.push_back({"bias", ElementCount(2), DataType::float32});
  const FetchPlan plan = plan_fetches(layers, {}, fetch_rule(0, no_end, 0, 2));
  EXPECT_EQ(plan.is_persistent, (std::vector{false, true, false}));
  EXPECT_EQ(told(plan), (Words{"+", "a+", "c+", "+", "c+", "a+"}));
}

// A call that brings several is waited for by the first of them that runs.
TEST(FetchPlan, WaitsForAFetchOnce) {
  const FetchPlan plan = plan_fetches(tens(2), {}, fetch_rule(100, no_end, 0));
  std::vector<std::size_t> waits;
  for (const Visit& visit : plan.visits) waits.push_back(visit.awaited.size());
  EXPECT_EQ(waits, (std::vector<std::size_t>{0, 1, 0, 0, 0, 0}));
}

// Both layers of the one block run again before their backward, and are fetched for it.
TEST(FetchPlan, FetchesForARecomputation) {
  auto layers = tens(2);
  for (auto& layer : layers) layer.block = 0;
  const FetchPlan plan = plan_fetches(layers, {1}, fetch_rule(0, no_end, 0));
  EXPECT_EQ(told(plan), (Words{"+", "a+", "b+", "+", "a+", "b+", "b+", "a+"}));
  EXPECT_EQ(plan.visits[4].kind, VisitKind::recompute);
  EXPECT_EQ(plan.visits[6].kind, VisitKind::backward);
}

// Floats of 4 B: all three layers, or two.
TEST(FetchPlan, CountsWhatIsThereAtOnce) {
  EXPECT_EQ(plan_fetches(tens(3), {}, fetch_rule(100, no_end, 0)).live, Bytes(120));
  EXPECT_EQ(plan_fetches(tens(3), {}, fetch_rule(10, 20, 0)).live, Bytes(80));
  EXPECT_EQ(plan_fetches(tens(3), {}, fetch_rule(0, no_end, 0)).live, Bytes(40));
}

}  // namespace
}  // namespace paceline::training
