#pragma once

#include <cstdint>
#include <vector>

#include "tests/testbed/descriptor.h"
#include "tests/testbed/testbed_options.h"

namespace paceline::testbed {

// Packets that a host's own kernel dropped on their way to the switch; none are expected.
struct DeviceDrops {
  std::uint64_t by_token_bucket = 0;
  std::uint64_t by_device = 0;
};

// A network namespace for each host with one TUN device, eth0, that has its address, its rate (a
// token bucket) and TCP settings that never limit. Nothing has a name outside: the namespaces end
// with their last descriptor and the devices with theirs.
class HostNetworks {
 public:
  // Puts the namespaces at first_host_descriptor and on. Throws SetupError.
  HostNetworks(std::uint32_t hosts, const LinkOptions& link);

  // TUN devices, non-blocking, host by host.
  [[nodiscard]] std::vector<int> devices() const;
  [[nodiscard]] DeviceDrops drops(std::uint32_t host) const;

 private:
  std::vector<Descriptor> devices_;
};

}  // namespace paceline::testbed
