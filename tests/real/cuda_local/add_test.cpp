#include <gtest/gtest.h>

#include <cstring>

#include "real/backends.h"
#include "tests/real/cuda/gpu.h"

namespace paceline::test {
namespace {

using collectives::ElementRange;

constexpr std::uint32_t length = 61;
constexpr real::Stream stream = 0;

std::unique_ptr<real::Buffer> buffer_with(real::Communicator& communicator, float first) {
  auto buffer = communicator.allocate(DataType::float32, ElementCount(length));
  std::vector<float> values(length);
  for (std::uint32_t i = 0; i < length; ++i) values[i] = first + static_cast<float>(i);
  buffer->write({ElementCount(0), ElementCount(length)}, std::as_bytes(std::span(values)));
  return buffer;
}

// What `count` elements from `from` on, added at `to`, leave; the words of the first fault.
std::string fault_of_sum(real::Communicator& communicator, std::uint32_t to, std::uint32_t from,
                         std::uint32_t count) {
  const auto sums = buffer_with(communicator, 1000);
  const auto added = buffer_with(communicator, 0);
  communicator.put(real::Arrival::reduce, *sums, {ElementCount(to), ElementCount(count)}, *added,
                   ElementCount(from), stream);
  communicator.finish(stream);
  std::vector<float> values(length);
  sums->read({ElementCount(0), ElementCount(length)}, std::as_writable_bytes(std::span(values)));
  for (std::uint32_t i = 0; i < length; ++i) {
    const bool inside = i >= to && i < to + count;
    const float expected = static_cast<float>(1000 + i + (inside ? from + i - to : 0));
    if (values[i] == expected) continue;
    return std::to_string(count) + " elements from " + std::to_string(from) + " at " +
           std::to_string(to) + ": element " + std::to_string(i) + " is " +
           std::to_string(values[i]) + ", not " + std::to_string(expected);
  }
  return "";
}

// 16 bytes at a time where both sides are aligned to that, else one by one; and what is left over.
TEST(GpuSums, AddFromAnyElementToAnyOther) {
  if (const auto missing = gpu_missing(); !missing.empty()) GTEST_SKIP() << missing;
  const auto said = alone([](const real::ConnectRequest& request) {
    const auto communicator = real::connect_cuda_local(request);
    std::vector<std::string> faults;
    for (const std::uint32_t to : {0U, 1U, 4U, 7U}) {
      for (const std::uint32_t from : {0U, 2U, 3U, 8U}) {
        for (const std::uint32_t count : {1U, 4U, 6U, 33U}) {
          auto fault = fault_of_sum(*communicator, to, from, count);
          if (!fault.empty()) faults.push_back(std::move(fault));
        }
      }
    }
    return faults;
  });
  EXPECT_EQ(said, std::vector<std::string>());
}

// Sum, copy of the sum, sum to the copy, with nothing in between: in that order.
TEST(GpuSums, AreInOrderWithCopies) {
  if (const auto missing = gpu_missing(); !missing.empty()) GTEST_SKIP() << missing;
  const auto said = alone([](const real::ConnectRequest& request) {
    const auto communicator = real::connect_cuda_local(request);
    const auto first = buffer_with(*communicator, 0);
    const auto second = buffer_with(*communicator, 0);
    const ElementRange all{ElementCount(0), ElementCount(length)};
    for (int i = 0; i < 20; ++i) {
      communicator->put(real::Arrival::reduce, *first, all, *second, ElementCount(0), stream);
      communicator->put(real::Arrival::copy, *second, all, *first, ElementCount(0), stream);
    }
    communicator->finish(stream);
    std::vector<float> values(length);
    second->read(all, std::as_writable_bytes(std::span(values)));
    std::vector<std::string> faults;
    for (std::uint32_t i = 0; i < length; ++i) {
      if (values[i] != static_cast<float>(i) * 1'048'576) faults.push_back(std::to_string(i));
    }
    return faults;
  });
  EXPECT_EQ(said, std::vector<std::string>());
}

}  // namespace
}  // namespace paceline::test
