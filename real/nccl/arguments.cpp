#include "real/nccl/arguments.h"

#include <algorithm>

namespace paceline::real::nccl {

// Until 2.8 a version had one digit less for its major and minor number (nccl.h, NCCL_VERSION).
std::string version_text(int code) {
  const int major_unit = code < 10000 ? 1000 : 10000;
  return std::to_string(code / major_unit) + "." + std::to_string(code % major_unit / 100) + "." +
         std::to_string(code % 100);
}

std::string place_of(const std::string& boot_id, const std::optional<std::string>& host_id,
                     const std::string& pci_address) {
  return (host_id ? "host " + *host_id : "boot " + boot_id) + " " + pci_address;
}

std::optional<std::pair<Rank, Rank>> find_shared_device(const std::vector<std::string>& places) {
  for (auto one = places.begin(); one != places.end(); ++one) {
    const auto other = std::find(one + 1, places.end(), *one);
    if (other == places.end()) continue;
    return std::pair(Rank(static_cast<std::uint32_t>(one - places.begin())),
                     Rank(static_cast<std::uint32_t>(other - places.begin())));
  }
  return std::nullopt;
}

std::optional<std::size_t> lane_of(Stream stream) {
  const Stream channel = stream % streams_a_call;
  if (channel >= lane_channels) return std::nullopt;
  return stream / streams_a_call % 2 * lane_channels + channel;
}

}  // namespace paceline::real::nccl
