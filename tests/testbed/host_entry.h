#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/testbed/descriptor.h"

namespace paceline::testbed {

// How other processes find a running testbed: through descriptors of known numbers in /proc/PID/fd,
// so nothing of it has a name that could outlive it. Both the testbed process and the init of
// COMMAND's process namespace (PID 1 there) hold them.
constexpr std::uint32_t hosts_most = 64;  // more would starve on the cores that they share
constexpr int control_descriptor = 512;   // above what shells and build tools pass on
constexpr int first_host_descriptor = control_descriptor + 1;  // one network namespace a host

// Shared by all that open control_descriptor.
struct ControlPage {
  std::uint64_t magic;
  std::uint32_t hosts;
  std::atomic<std::uint32_t> link_is_down[hosts_most];
};

[[nodiscard]] std::string host_name(std::uint32_t host);     // "host0"
[[nodiscard]] std::string host_address(std::uint32_t host);  // "10.77.0.1"

// A new page for so many hosts, at control_descriptor. It lives as long as the process.
[[nodiscard]] ControlPage& make_control_page(std::uint32_t hosts);

// The descriptor becomes `number`, which must be free.
void move_descriptor(Descriptor from, int number);

// This process goes into a host: network, host name, and the /sys that shows that network.
// `testbed` is a process that holds the descriptors: the testbed itself, or 1 below COMMAND.
void enter_host(pid_t testbed, std::uint32_t host);

// The link of a host of a running testbed: packets to and from it are dropped, or no longer.
void set_link_down(pid_t testbed, std::uint32_t host, bool is_down);

// Replaces this process. Returns only on failure: the exit status that a shell would give.
[[nodiscard]] int execute(const std::vector<std::string>& command);

}  // namespace paceline::testbed
