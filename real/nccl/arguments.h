#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "real/backend.h"

// What is said to NCCL and about it, as far as neither NCCL nor a device is needed for it.
namespace paceline::real::nccl {

// 22809 is 2.28.9, and 2708, of the older kind, 2.7.8.
[[nodiscard]] std::string version_text(int code);

// A device as NCCL tells devices apart: a machine and a slot. The machine is the kernel's boot, or
// `host_id` of NCCL_HOSTID, also an empty one.
[[nodiscard]] std::string place_of(const std::string& boot_id,
                                   const std::optional<std::string>& host_id,
                                   const std::string& pci_address);

// The first two ranks that named the same device, by where each said to be.
[[nodiscard]] std::optional<std::pair<Rank, Rank>> find_shared_device(
    const std::vector<std::string>& places);

// Plans' messages in flight together must not share a communicator of NCCL's, which matches them by
// order alone, while threads post in any. Lanes are such communicators: by channel, and by whether
// the call is even. Two calls, of successive numbers, may be in flight, of few channels each.
inline constexpr Stream lane_channels = 4;  // each costs memory of the device and start-up time
inline constexpr Stream lanes = 2 * lane_channels;

// nullopt where the channel's number is too high.
[[nodiscard]] std::optional<std::size_t> lane_of(Stream stream);

}  // namespace paceline::real::nccl
