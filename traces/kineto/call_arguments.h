#pragma once

#include <string_view>

#include "traces/device_trace/device_trace.h"
#include "traces/kineto/event.h"

namespace paceline::traces::kineto {

// What the arguments of a call, or of its kernel, tell of it; times are left at 0.
[[nodiscard]] TracedCollective described(const Arguments& arguments);

// The same of "nccl:all_reduce" and its inputs.
[[nodiscard]] TracedCollective annotated(std::string_view name, const Arguments& arguments);

// The same of "symm_mem::multimem_all_reduce_" and its tensors.
[[nodiscard]] TracedCollective on_symmetric_memory(std::string_view name,
                                                   const Arguments& arguments);

}  // namespace paceline::traces::kineto
