#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "traces/pytorch/nccl_names.h"

namespace paceline::traces::kineto {

// Values as the file has them: strings without their quotes, numbers as they are spelled, lists
// from bracket to bracket. Empty where there is none. They live as long as the text.
struct Arguments {
  std::string_view correlation, external_id, stream, device;
  std::string_view collective, dtype, in_count, out_count, group_size, group, group_number, ranks,
      sequence;
  std::string_view input_dims, input_types;
};

inline constexpr std::array<std::pair<std::string_view, std::string_view Arguments::*>, 15>
    argument_keys{{{"External id", &Arguments::external_id},
                   {"correlation", &Arguments::correlation},
                   {"stream", &Arguments::stream},
                   {"device", &Arguments::device},
                   {"Collective name", &Arguments::collective},
                   {"dtype", &Arguments::dtype},
                   {"In msg nelems", &Arguments::in_count},
                   {"Out msg nelems", &Arguments::out_count},
                   {"Group size", &Arguments::group_size},
                   {"Process Group Name", &Arguments::group},
                   {"Process Group ID", &Arguments::group_number},
                   {"Process Group Ranks", &Arguments::ranks},
                   {"Seq", &Arguments::sequence},
                   {"Input Dims", &Arguments::input_dims},
                   {"Input type", &Arguments::input_types}}};

// One element of traceEvents.
struct Event {
  std::string_view phase, category, name, start_us, duration_us, thread;
  Arguments arguments;
};

enum class Category : unsigned char { kernel, copy, set, launch, annotation, operation, other };

// Those of today and of the first releases.
[[nodiscard]] inline Category category_of(std::string_view name) {
  if (name == "cpu_op" || name == "Operator") return Category::operation;
  if (name == "kernel" || name == "Kernel") return Category::kernel;
  if (name == "gpu_memcpy" || name == "Memcpy") return Category::copy;
  if (name == "gpu_memset" || name == "Memset") return Category::set;
  if (name == "user_annotation") return Category::annotation;
  if (name == "Runtime" || name.ends_with("_runtime") || name.ends_with("_driver") ||
      name.starts_with("hip")) {
    return Category::launch;  // cuda_runtime, cuda_driver, hip_runtime_api
  }
  return Category::other;
}

inline constexpr std::string_view gradient_ready =
    "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad";

// Launches a CUDA graph: everything in it has the correlation of this one call.
[[nodiscard]] inline bool is_graph_launch(std::string_view name) {
  return name.find("GraphLaunch") != std::string_view::npos;  // cuda, cu, hip; _v10000 behind it
}

// Whether anything of its arguments is used; they are most of a file.
[[nodiscard]] inline bool needs_arguments(Category category, std::string_view name) {
  switch (category) {
    case Category::kernel:
    case Category::copy:
    case Category::set:
    case Category::launch: return true;
    case Category::annotation: return name.starts_with(pytorch::annotated_call);
    case Category::operation: return name == pytorch::recorded_call;
    case Category::other: return false;
  }
  return false;
}

}  // namespace paceline::traces::kineto
