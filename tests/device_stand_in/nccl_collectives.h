#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/device_stand_in/nccl_communicator.h"

namespace paceline::stand_in {

[[nodiscard]] std::size_t size_of(ncclDataType_t type);

// A group's kernel: messages together, collectives one after the other, each as the simplest
// exchange that does it, sums in the order of the ranks. As exchange() returns.
[[nodiscard]] std::string run_on_region(Region& region, int rank, int ranks,
                                        const std::vector<StandInCall>& calls,
                                        const std::function<bool()>& stopped);

}  // namespace paceline::stand_in
