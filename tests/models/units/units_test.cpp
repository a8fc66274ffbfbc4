#include "models/units/units.h"

#include <gtest/gtest.h>

namespace paceline {
namespace {

using namespace literals;

// What must not compile. `addable` is true when a + b compiles.
static_assert(addable<Seconds, Seconds>);
static_assert(addable<Bytes, Bytes>);
static_assert(addable<ElementCount, ElementCount>);
static_assert(!addable<Seconds, Bytes>);
static_assert(!addable<Seconds, BytesPerSecond>);
static_assert(!addable<Bytes, ElementCount>);
static_assert(!addable<Bytes, ElementSize>);
static_assert(!addable<Flops, FlopsPerSecond>);
static_assert(!addable<FlopsPerSecond, SamplesPerSecond>);
static_assert(!addable<Rank, RankCount>);
static_assert(!addable<Seconds, double>);
static_assert(!addable<Bytes, int>);
static_assert(!addable<std::uint64_t, Bytes>);

template <class A, class B>
concept multipliable = requires(A a, B b) {
  a* b;
};
template <class A, class B>
concept dividable = requires(A a, B b) {
  a / b;
};
template <class A, class B>
concept comparable = requires(A a, B b) {
  a < b;
};

static_assert(!comparable<Seconds, Bytes>);
static_assert(!comparable<Rank, RankCount>);
static_assert(!comparable<Seconds, double>);
static_assert(!multipliable<Seconds, Seconds>);
static_assert(!multipliable<Bytes, Bytes>);
static_assert(!multipliable<Bytes, ElementSize>);
static_assert(!dividable<Bytes, Flops>);
static_assert(!dividable<Bytes, FlopsPerSecond>);
static_assert(!dividable<Flops, BytesPerSecond>);
static_assert(!dividable<Seconds, Bytes>);
static_assert(!dividable<Bytes, Bytes>);  // counts stay whole numbers
static_assert(!dividable<Rank, Rank>);
static_assert(!std::is_convertible_v<double, Seconds>);
static_assert(!std::is_convertible_v<Seconds, double>);
static_assert(!std::is_convertible_v<Bytes, ElementCount>);
static_assert(!std::is_constructible_v<Bytes, ElementCount>);

// 3,000 B over 1.5 kB/s take 2 s; and back: 3,000 B in 2 s are 1.5 kB/s.
TEST(Units, BytesBandwidthAndTimeFollowFromEachOther) {
  static_assert(Bytes(3000) / BytesPerSecond(1500) == Seconds(2));
  static_assert(Bytes(3000) / Seconds(2) == BytesPerSecond(1500));
}

// 10 TFLOP at 4 TFLOP/s take 2.5 s.
TEST(Units, ArithmeticTakesWorkOverSpeed) {
  static_assert(Flops(10e12) / FlopsPerSecond(4e12) == Seconds(2.5));
}

TEST(Units, ElementsTimesTheirSizeAreBytes) {
  static_assert(ElementCount(25) * ElementSize(4) == Bytes(100));
  static_assert(Bytes(100) * std::uint64_t{3} == Bytes(300));
  static_assert(ElementCount(100) * std::uint64_t{3} == ElementCount(300));
}

TEST(Units, QuantitiesOfOneKindAddScaleAndCompare) {
  static_assert(Seconds(1.5) + Seconds(0.25) == Seconds(1.75));
  static_assert(Seconds(1.5) - Seconds(0.25) == Seconds(1.25));
  static_assert(Seconds(1.5) * 2.0 == Seconds(3) && 2.0 * Seconds(1.5) == Seconds(3));
  static_assert(Seconds(3) / 2.0 == Seconds(1.5));
  static_assert(Seconds(3) / Seconds(1.5) == 2.0);
  static_assert(Seconds(1) < Seconds(2) && Bytes(2) > Bytes(1) && Rank(3) != Rank(4));
  Bytes sum(5);
  sum += Bytes(7);
  sum -= Bytes(2);
  EXPECT_EQ(sum, Bytes(10));
}

TEST(Units, AQuantityStartsAtZero) {
  EXPECT_EQ(Seconds(), Seconds(0));
  EXPECT_EQ(Bytes(), Bytes(0));
  EXPECT_EQ(Rank(), Rank(0));
}

// 2^53 + 1 is the first whole number that a double cannot hold.
TEST(Units, CountsAreExactBeyondADouble) {
  const std::uint64_t odd = (std::uint64_t{1} << 53) + 1;
  EXPECT_EQ((Bytes(odd) + Bytes(1)).value(), odd + 1);
  EXPECT_EQ((ElementCount(odd) * ElementSize(1)).value(), odd);
}

TEST(Units, LiteralsAreInTheUnitOfTheirName) {
  EXPECT_EQ(0.5_s, Seconds(0.5));
  EXPECT_DOUBLE_EQ((5_us).value(), 5e-6);
  EXPECT_EQ(12_B, Bytes(12));
  EXPECT_EQ(25_MiB, Bytes(25 * 1048576));
}

}  // namespace
}  // namespace paceline
