#pragma once

#include <cstdint>

#include "models/units/quantity.h"

namespace paceline {

using Seconds = Quantity<struct SecondsTag, double>;
using BytesPerSecond = Quantity<struct BytesPerSecondTag, double>;
using Flops = Quantity<struct FlopsTag, double>;  // floating-point operations; multiply-add is two
using FlopsPerSecond = Quantity<struct FlopsPerSecondTag, double>;
using SamplesPerSecond = Quantity<struct SamplesPerSecondTag, double>;
using Watts = Quantity<struct WattsTag, double>;
using Bytes = Quantity<struct BytesTag, std::uint64_t>;
using ElementCount = Quantity<struct ElementCountTag, std::uint64_t>;
using ElementSize = Quantity<struct ElementSizeTag, std::uint64_t>;  // bytes of one element
using RankCount = Quantity<struct RankCountTag, std::uint32_t>;
using Rank = Quantity<struct RankTag, std::uint32_t>;  // 0 .. world size - 1

// The physical operators; there are no others.
constexpr Seconds operator/(Bytes size, BytesPerSecond bandwidth) {
  return Seconds(static_cast<double>(size.value()) / bandwidth.value());
}
constexpr BytesPerSecond operator/(Bytes size, Seconds time) {
  return BytesPerSecond(static_cast<double>(size.value()) / time.value());
}
constexpr Seconds operator/(Flops work, FlopsPerSecond speed) {
  return Seconds(work.value() / speed.value());
}
constexpr Bytes operator*(ElementCount count, ElementSize size) {
  return Bytes(count.value() * size.value());
}

constexpr Bytes operator*(Bytes size, std::uint64_t times) { return Bytes(size.value() * times); }
constexpr ElementCount operator*(ElementCount count, std::uint64_t times) {
  return ElementCount(count.value() * times);
}

// std::uint32_t is too easily mixed with other counts in loops over ranks; this names the index.
constexpr std::uint32_t index(Rank rank) { return rank.value(); }

template <class A, class B>
concept addable = requires(A a, B b) {
  a + b;
};

static_assert(addable<Seconds, Seconds>);
static_assert(!addable<Seconds, Bytes>);
static_assert(!addable<Bytes, ElementCount>);
static_assert(!addable<Seconds, double>);

namespace literals {
constexpr Seconds operator""_s(long double v) { return Seconds(v); }
constexpr Seconds operator""_us(unsigned long long v) {
  return Seconds(static_cast<double>(v) * 1e-6);
}
constexpr Bytes operator""_B(unsigned long long v) { return Bytes(v); }
constexpr Bytes operator""_MiB(unsigned long long v) { return Bytes(v << 20); }
}  // namespace literals

}  // namespace paceline
