// When packets leave the switch, by a clock of the tests' own: to the nanosecond.

#include "tests/testbed/packet_switch.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <iterator>
#include <memory>
#include <vector>

#include "tests/testbed/descriptor.h"

namespace paceline::testbed {
namespace {

using std::chrono::nanoseconds;

// Links of 1 MB/s and 5 ms, packets of 1000 bytes: 1 ms over 1.002 where they are sent, over 1.005
// where they are received (packet_switch.cpp has the margins).
constexpr LinkOptions link_options{BytesPerSecond(1e6), Seconds(5e-3), 1000};
constexpr nanoseconds to_send(998'004), to_receive(995'025), on_the_way(5'000'000);

// So much before its time a packet may leave, with a neighbour.
constexpr nanoseconds early(15'000);

class Switch : public testing::Test {
 protected:
  explicit Switch(std::uint32_t hosts = 3) {
    std::vector<int> devices;
    for (std::uint32_t host = 0; host < hosts; ++host) {
      int ends[2];
      require(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends),
              "pair");
      devices.push_back(ends[0]);
      switch_ends_.emplace_back(ends[0]);
      host_ends_.emplace_back(ends[1]);
    }
    switch_ = std::make_unique<PacketSwitch>(devices, link_options, control_);
  }

  void send(std::uint32_t from, std::uint32_t to) const {
    std::array<unsigned char, 1000> packet{0x45};  // IPv4, a header of 20 bytes
    const unsigned char address[] = {10, 77, 0, static_cast<unsigned char>(to + 1)};
    std::copy(std::begin(address), std::end(address), packet.begin() + 16);
    ASSERT_EQ(::write(host_ends_[from].number(), packet.data(), packet.size()), 1000);
  }

  // How many have arrived at a host and were not counted before.
  int arrived(std::uint32_t host) const {
    std::array<std::byte, 1000> packet{};
    int count = 0;
    while (::read(host_ends_[host].number(), packet.data(), packet.size()) > 0) ++count;
    return count;
  }

  // Delivers the next packet, to that host and no other, and says when that was, since `begin`.
  nanoseconds deliver_next(std::uint32_t to) {
    const auto next = switch_->next_departure();
    if (!next) return nanoseconds(0);
    switch_->deliver(*next - early - nanoseconds(1));
    EXPECT_EQ(arrived(to), 0);
    switch_->deliver(*next);
    EXPECT_EQ(arrived(to), 1);
    return *next - begin;
  }

  static constexpr Clock::time_point begin{std::chrono::hours(1)};
  ControlPage control_{};
  std::vector<Descriptor> switch_ends_, host_ends_;
  std::unique_ptr<PacketSwitch> switch_;
};

TEST_F(Switch, TakesAPacketsLengthAndTheLatency) {
  EXPECT_FALSE(switch_->next_departure());
  send(0, 1);
  switch_->receive(0, begin);
  EXPECT_EQ(deliver_next(1), to_send + on_the_way);
  EXPECT_FALSE(switch_->next_departure());
}

TEST_F(Switch, LetsABurstLeaveAtTheRateOfItsLink) {
  for (int i = 0; i < 10; ++i) send(0, 1);
  switch_->receive(0, begin);
  for (int i = 1; i <= 10; ++i) EXPECT_EQ(deliver_next(1), i * to_send + on_the_way);
}

TEST_F(Switch, SharesTheRateOfAReceiverAmongSenders) {
  for (const std::uint32_t from : {0U, 1U}) {
    for (int i = 0; i < 5; ++i) send(from, 2);
    switch_->receive(from, begin);
  }
  for (int i = 0; i < 10; ++i) EXPECT_EQ(deliver_next(2), to_send + on_the_way + i * to_receive);
}

TEST_F(Switch, KeepsTheDirectionsOfALinkApart) {
  for (const std::uint32_t from : {0U, 1U}) {
    send(from, 1 - from);
    switch_->receive(from, begin);
  }
  switch_->deliver(begin + to_send + on_the_way);
  EXPECT_EQ(arrived(0), 1);
  EXPECT_EQ(arrived(1), 1);
}

TEST_F(Switch, DropsWhatComesOverALinkThatIsDown) {
  control_.link_is_down[1] = 1;
  for (const std::uint32_t to : {1U, 2U}) send(0, to);
  switch_->receive(0, begin);
  switch_->deliver(begin + 2 * to_send + on_the_way);
  EXPECT_EQ(arrived(1), 0);
  EXPECT_EQ(arrived(2), 1);
  EXPECT_EQ(switch_->counters(1).packets_dropped_by_link, 1U);
}

}  // namespace
}  // namespace paceline::testbed
