#pragma once

#include <memory>

#include "real/backend.h"

namespace paceline::real {

// Ranks that are threads of one process, rank r on device r mod devices: several ranks on one GPU,
// which NCCL refuses, so that plans are checked where there is only one. A message is a copy on the
// receiver's stream; post() returns when the other sides have posted too. Nothing native.
[[nodiscard]] std::unique_ptr<Communicator> connect_cuda_local(const ConnectRequest& request);

}  // namespace paceline::real
