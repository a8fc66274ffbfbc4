#include "models/cost/tcp_hosts.h"

#include <gtest/gtest.h>

namespace paceline::cost {
namespace tcp_hosts_test {

constexpr std::uint32_t recent = 28;

TEST(TcpHosts, NcclOpensSocketsByTheVendorOfTheNic) {
  const auto by_nccl = [](const TcpHosts& hosts) {
    return sockets_of(hosts, Library::nccl, recent);
  };
  EXPECT_EQ(by_nccl({.provider = Provider::aws}), (Sockets{16, 2}));
  EXPECT_EQ(by_nccl({.provider = Provider::gcp}), (Sockets{4, 4}));
  for (const Provider provider : {Provider::unknown, Provider::own, Provider::azure}) {
    EXPECT_EQ(by_nccl({.provider = provider}), (Sockets{1, 1}));
  }
  EXPECT_EQ(by_nccl({.nic = NicVendor::ena}), (Sockets{16, 2}));
}

// A container's interface has no device, so that NCCL finds no vendor.
TEST(TcpHosts, VirtualInterfacesHaveOneSocketAConnection) {
  EXPECT_EQ(sockets_of({.provider = Provider::aws, .nic = NicVendor::other}, Library::nccl, recent),
            (Sockets{1, 1}));
}

TEST(TcpHosts, OneSocketAConnectionIsAllThatOldNcclAndOtherLibrariesHave) {
  const TcpHosts hosts{.provider = Provider::aws, .sockets = 8};
  EXPECT_EQ(sockets_of(hosts, Library::nccl, 3), (Sockets{1, 1}));
  EXPECT_EQ(sockets_of(hosts, Library::gloo, recent), (Sockets{1, 1}));
  EXPECT_EQ(sockets_of(hosts, Library::mpi, recent), (Sockets{1, 1}));
}

TEST(TcpHosts, SocketsAndThreadsAreWhatIsSetOfThem) {
  const TcpHosts hosts{.sockets = 32, .threads = 4};
  EXPECT_EQ(sockets_of(hosts, Library::nccl, recent), (Sockets{32, 4}));
  // No more threads than sockets, whatever the NIC suggests.
  EXPECT_EQ(sockets_of({.provider = Provider::aws, .sockets = 1}, Library::nccl, recent),
            (Sockets{1, 1}));
}

TcpRate over(const TcpHosts& hosts, double wires_gb_s) {
  return tcp_rate(hosts, {.wires = BytesPerSecond(wires_gb_s * 1e9)});
}

void expect_rate(const TcpRate& rate, double low, double likely, double high) {
  EXPECT_NEAR(rate.low.value() / 1e9, low, 1e-3);
  EXPECT_NEAR(rate.likely.value() / 1e9, likely, 1e-3);
  EXPECT_NEAR(rate.high.value() / 1e9, high, 1e-3);
}

// 1.98 / 1.6 and x 1.6; 0.58 / 1.6 and x 1.6; sqrt(1.98 x 0.58) between 0.58 / 1.4 and 1.98 x 1.4.
TEST(TcpHosts, OneThreadMovesWhatItsHostsClassDoes) {
  expect_rate(over({.provider = Provider::own}, 12.5), 1.2375, 1.98, 3.168);
  expect_rate(over({.provider = Provider::azure}, 12.5), 0.3625, 0.58, 0.928);
  expect_rate(over({}, 12.5), 0.4143, 1.0716, 2.772);
}

TEST(TcpHosts, WiresAreTheMost) {
  expect_rate(over({.provider = Provider::own}, 2.5), 1.2375, 1.98, 2.5);
  expect_rate(over({.provider = Provider::own}, 1.1), 1.1, 1.1, 1.1);
}

// Two connections of two threads each: 4 x 0.58. Two of four: 8 x 0.58.
TEST(TcpHosts, ThreadsOfManySocketsAddUp) {
  expect_rate(over({.provider = Provider::aws}, 12.5), 1.45, 2.32, 3.712);
  expect_rate(over({.provider = Provider::gcp}, 12.5), 2.9, 4.64, 7.424);
}

// Connections are of all NICs: two NICs with four of them have eight threads, not sixteen.
TEST(TcpHosts, ConnectionsAreOfAllNics) {
  const TcpRate rate = tcp_rate({.provider = Provider::aws},
                                {.nics = 2, .connections = 4, .wires = BytesPerSecond(25e9)});
  EXPECT_DOUBLE_EQ(rate.likely.value(), 8 * 0.58e9);
}

// NCCL_SOCKET_NTHREADS alone: as many sockets, one a thread.
TEST(TcpHosts, ThreadsAloneHaveASocketEach) {
  EXPECT_EQ(sockets_of({.threads = 4}, Library::nccl, 28), (Sockets{4, 4}));
}

// The thread that drives a rank's connections moves the bytes of all of them.
TEST(TcpHosts, ConnectionsOfOneSocketShareAThread) {
  const TcpHosts hosts{.provider = Provider::own};
  for (const std::uint32_t connections : {1U, 2U, 8U}) {
    const TcpRate rate =
        tcp_rate(hosts, {.connections = connections, .wires = BytesPerSecond(12.5e9)});
    EXPECT_DOUBLE_EQ(rate.likely.value(), 1.98e9);
  }
  const TcpRate two = tcp_rate(hosts, {.nics = 2, .wires = BytesPerSecond(12.5e9)});
  EXPECT_DOUBLE_EQ(two.likely.value(), 2 * 1.98e9);
}

TEST(TcpHosts, AMeasuredStreamOfOnesOwnHostsLeavesNothingOpen) {
  expect_rate(over({.provider = Provider::own, .stream = BytesPerSecond(1.1e9)}, 12.5), 1.1, 1.1,
              1.1);
}

TEST(TcpHosts, AMeasuredStreamIsTheMostThatVirtualMachinesCarry) {
  const auto virtual_with = [](double stream) {
    return over({.provider = Provider::other, .stream = BytesPerSecond(stream * 1e9)}, 12.5);
  };
  expect_rate(virtual_with(1.75), 0.58 / 1.6, 0.58, 0.58 * 1.6);
  expect_rate(virtual_with(0.7), 0.58 / 1.6, 0.58, 0.7);
  expect_rate(virtual_with(0.3), 0.3, 0.3, 0.3);
}

}  // namespace tcp_hosts_test
}  // namespace paceline::cost
