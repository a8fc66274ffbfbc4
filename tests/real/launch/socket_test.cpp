#include "real/launch/socket.h"

#include <gtest/gtest.h>

#include <fstream>

namespace paceline::real::test {
namespace socket_test {

TEST(FreePort, IsNoneThatTheKernelGivesOutByItself) {
  std::uint32_t first_given_by_kernel = 0;
  std::ifstream("/proc/sys/net/ipv4/ip_local_port_range") >> first_given_by_kernel;
  if (first_given_by_kernel <= 11'000) GTEST_SKIP() << "all ports are the kernel's";
  const std::uint16_t port = free_port();
  EXPECT_LT(port, first_given_by_kernel);
  const Opened listening = listen_everywhere(port);
  EXPECT_EQ(listening.error, 0);
  EXPECT_NE(free_port(), port);
}

}  // namespace socket_test
}  // namespace paceline::real::test
