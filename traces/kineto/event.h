#pragma once

#include <string_view>
#include <utility>

#include "traces/pytorch/nccl_names.h"
#include "traces/text/lines.h"

namespace paceline::traces::kineto {

// Values as the file has them: strings without quotes, numbers as spelled, lists from bracket to
// bracket, empty where there is none. They live as long as the text.
struct Arguments {
  std::string_view correlation, external_id, stream, device;
  std::string_view collective, dtype, in_count, out_count, group_size, group, group_number, ranks,
      sequence;
  std::string_view input_dims, input_types;
  std::string_view waited_stream, record_correlation;  // of what waits for an event of a stream
};

// Kernels and launches of torch 1.8 to 1.10 spell some of them their own way.
inline constexpr std::pair<std::string_view, std::string_view Arguments::*> argument_keys[] = {
    {"External id", &Arguments::external_id},
    {"external id", &Arguments::external_id},
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
    {"Input dims", &Arguments::input_dims},
    {"Input type", &Arguments::input_types},
    {"wait_on_stream", &Arguments::waited_stream},
    {"wait_on_cuda_event_record_corr_id", &Arguments::record_correlation}};

struct Event {
  std::string_view phase, category, name, start_us, duration_us, thread, process;
  Arguments arguments;
};

enum class Category : unsigned char {
  kernel,
  copy,
  set,
  launch,
  wait,
  annotation,
  operation,
  device_annotation,  // a range of the host, repeated where its kernels ran
  other
};

// Those of today and, with a capital letter, of torch 1.8 to 1.10.
[[nodiscard]] inline Category category_of(std::string_view name) {
  constexpr std::pair<std::string_view, Category> categories[] = {
      {"cpu_op", Category::operation},
      {"Operator", Category::operation},
      {"kernel", Category::kernel},
      {"Kernel", Category::kernel},
      {"gpu_memcpy", Category::copy},
      {"Memcpy", Category::copy},
      {"gpu_memset", Category::set},
      {"Memset", Category::set},
      {"user_annotation", Category::annotation},
      {"gpu_user_annotation", Category::device_annotation},
      {"User", Category::device_annotation},
      {"cuda_sync", Category::wait}};
  if (const auto category = value_of(name, categories)) return *category;
  if (name == "Runtime" || name.ends_with("_runtime") || name.ends_with("_driver") ||
      name.starts_with("hip")) {
    return Category::launch;  // cuda_runtime, cuda_driver, hip_runtime_api
  }
  return Category::other;
}

// What a torch without Kineto, and all until 1.7, write has no categories.
inline constexpr std::string_view host_process = "CPU functions", device_process = "CUDA functions";

[[nodiscard]] inline Category category_of_process(std::string_view name) {
  if (name == host_process) return Category::operation;
  return name == device_process ? Category::kernel : Category::other;
}

[[nodiscard]] inline Category category_of(const Event& event) {
  return event.category.empty() ? category_of_process(event.process) : category_of(event.category);
}

// torch::autograd::AccumulateGrad adds a gradient up; its arguments tell the shape. From torch 1.10
// on it lies inside an event of its name behind a prefix, which also has DDP's hooks.
[[nodiscard]] inline bool is_gradient(std::string_view name) {
  return name.ends_with("AccumulateGrad");
}
[[nodiscard]] inline bool has_hooks(std::string_view name) {
  return name.starts_with("autograd::engine::evaluate_function: ");
}

// An operation of a backward pass: from torch 1.10 on behind that prefix, before by the names of
// autograd's nodes, MmBackward0 or (until 1.9) MmBackward.
[[nodiscard]] inline bool is_backward(std::string_view name) {
  return has_hooks(name) || is_gradient(name) || name.ends_with("Backward0") ||
         name.ends_with("Backward");
}

// Ranges that steps are found by. Until torch 1.10 they have the category of operations.
[[nodiscard]] inline bool bounds_step(std::string_view name) {
  return name.starts_with(step_prefix) || name.starts_with(optimizer_prefix);
}

// Launches a CUDA graph: everything in it has the correlation of this one call.
[[nodiscard]] inline bool is_graph_launch(std::string_view name) {
  return contains(name, "GraphLaunch");  // cuda, cu, hip; _v10000 behind it
}

// Makes a stream wait for others: cudaStreamWaitEvent, hipStreamWaitEvent and the like.
[[nodiscard]] inline bool lets_a_stream_wait(std::string_view name) {
  return contains(name, "StreamWaitEvent");
}

// That, or makes the host wait for others. A wait for one stream, nearly always compute's, is none.
[[nodiscard]] inline bool may_wait_for_streams(std::string_view name) {
  return lets_a_stream_wait(name) ||
         contains_any(name, {"EventSynchronize", "DeviceSynchronize", "CtxSynchronize"});
}

// Arguments are most of a file.
[[nodiscard]] inline bool needs_arguments(Category category, std::string_view name) {
  switch (category) {
    case Category::kernel:
    case Category::copy:
    case Category::set:
    case Category::launch:
    case Category::wait: return true;
    case Category::annotation:
    case Category::operation:
      return name == pytorch::recorded_call || name.starts_with(pytorch::annotated_call) ||
             name.starts_with(pytorch::symmetric_call) || is_gradient(name);
    case Category::device_annotation:
    case Category::other: return false;
  }
  return false;
}

}  // namespace paceline::traces::kineto
