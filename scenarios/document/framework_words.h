#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace paceline::loader {

// Words of PyTorch, Hugging Face and DeepSpeed for what scenarios spell otherwise: the word, as a
// key or as a value, and what to write.
struct FrameworkWord {
  std::string_view word, write;
};

inline constexpr std::array framework_words{
    FrameworkWord{"fp16_compress", "workload.precision: {compute: amp, gradient: fp16}"},
    FrameworkWord{"fp16_compress_hook", "workload.precision: {compute: amp, gradient: fp16}"},
    FrameworkWord{"bf16_compress", "workload.precision: {compute: amp, gradient: bf16}"},
    FrameworkWord{"bf16_compress_hook", "workload.precision: {compute: amp, gradient: bf16}"},
    FrameworkWord{"powerSGD_hook", "comm_hook: powersgd"},
    FrameworkWord{"bucket_cap_mb", "bucket_cap: 25MiB"},
    FrameworkWord{"DistributedDataParallel", "strategy: ddp"},
    FrameworkWord{"DataParallel", "strategy: data_parallel"},
    FrameworkWord{"FullyShardedDataParallel", "strategy: fsdp"},
    FrameworkWord{"fsdp2", "strategy: fsdp"},
    FrameworkWord{"fully_shard", "strategy: fsdp"},
    FrameworkWord{"FULL_SHARD", "strategy: fsdp, sharding: full"},
    FrameworkWord{"SHARD_GRAD_OP", "strategy: fsdp, reshard_after_forward: false"},
    FrameworkWord{"NO_SHARD", "strategy: ddp"},
    FrameworkWord{"HYBRID_SHARD", "strategy: fsdp, sharding: hybrid"},
    FrameworkWord{"_HYBRID_SHARD_ZERO2",
                  "strategy: fsdp, sharding: hybrid, reshard_after_forward: false"},
    FrameworkWord{"sharding_strategy", "sharding: full or hybrid, and reshard_after_forward"},
    FrameworkWord{"auto_wrap_policy", "wrap: blocks, or min_num_params"},
    FrameworkWord{"deepspeed", "strategy: deepspeed_zero, stage: 1 to 3"},
    FrameworkWord{"zero1", "strategy: deepspeed_zero, stage: 1"},
    FrameworkWord{"zero2", "strategy: deepspeed_zero, stage: 2"},
    FrameworkWord{"zero3", "strategy: deepspeed_zero, stage: 3"},
    FrameworkWord{"mixed_precision", "workload.precision: bf16, or amp for autocast"},
    FrameworkWord{"autocast", "workload.precision: amp"},
    FrameworkWord{"float16", "fp16, or amp for autocast"},
    FrameworkWord{"bfloat16", "bf16, or amp for autocast"},
    FrameworkWord{"float32", "fp32, or tf32 as PyTorch's matmul allows"},
    FrameworkWord{"AdamW", "adam, which takes as long"},
    FrameworkWord{"adamw", "adam, which takes as long"},
    FrameworkWord{"per_device_train_batch_size", "workload.batch_per_gpu"},
    FrameworkWord{"micro_batch_size", "workload.batch_per_gpu"},
    FrameworkWord{"batch_size", "workload.batch_per_gpu, or job.global_batch"},
    FrameworkWord{"gradient_accumulation_steps", "training.gradient_accumulation"},
    FrameworkWord{"gradient_checkpointing", "training.activation_checkpointing: blocks"},
    FrameworkWord{"seq_len", "workload.sequence"},
    FrameworkWord{"max_seq_length", "workload.sequence"},
};

[[nodiscard]] constexpr std::optional<std::string_view> in_our_words(std::string_view word) {
  for (const FrameworkWord& one : framework_words) {
    if (one.word == word) return one.write;
  }
  return std::nullopt;
}

}  // namespace paceline::loader
