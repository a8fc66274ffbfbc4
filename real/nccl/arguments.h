#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "real/backend.h"

// What is said to NCCL and about it, as far as neither NCCL nor a device is needed for it.
namespace paceline::real::nccl {

// A device as NCCL tells devices apart: a machine and a slot. The machine is the kernel's boot, or
// `host_id` of NCCL_HOSTID, also an empty one.
[[nodiscard]] inline std::string place_of(const std::string& boot_id,
                                          const std::optional<std::string>& host_id,
                                          const std::string& pci_address) {
  return (host_id ? "host " + *host_id : "boot " + boot_id) + " " + pci_address;
}

// The first two ranks that named the same device, by where each said to be.
[[nodiscard]] inline std::optional<std::pair<Rank, Rank>> find_shared_device(
    const std::vector<std::string>& places) {
  for (auto one = places.begin(); one != places.end(); ++one) {
    const auto other = std::find(one + 1, places.end(), *one);
    if (other == places.end()) continue;
    return std::pair(Rank(static_cast<std::uint32_t>(one - places.begin())),
                     Rank(static_cast<std::uint32_t>(other - places.begin())));
  }
  return std::nullopt;
}

// Plans' messages in flight together must not share a communicator of NCCL's, which matches them by
// order alone, while threads post in any. Lanes are such communicators: by channel, and by whether
// the call is even. Two calls, of successive numbers, may be in flight, of few channels each.
inline constexpr Stream lane_channels = 4;  // each costs memory of the device and start-up time
inline constexpr Stream lanes = 2 * lane_channels;

// nullopt where the channel's number is too high.
[[nodiscard]] inline std::optional<std::size_t> lane_of(Stream stream) {
  const Stream channel = stream % streams_a_call;
  if (channel >= lane_channels) return std::nullopt;
  return stream / streams_a_call % 2 * lane_channels + channel;
}

}  // namespace paceline::real::nccl
