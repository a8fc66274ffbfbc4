// Which keys of the section `training` go to which strategy, and what they mean to it.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "models/training/ddp.h"
#include "scenarios/loader/scenario_file.h"
#include "scenarios/prepare/resolve.h"

namespace paceline {
namespace load_training_test {

using Set = std::vector<std::pair<const char*, const char*>>;

Scenario loaded(const Set& settings) {
  ScenarioValues values = small_values();
  values.by_path["cluster.preset"] = "dgx1-v100";
  for (const auto& [path, value] : settings) values.by_path[path] = value;
  return scenario_of_options(values, {});
}

std::string refused(const Set& settings) {
  try {
    (void)loaded(settings);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

// A setting takes another strategy than the file's: its keys are left out, and that is said. Keys
// that are set themselves are refused.
TEST(Training, LeavesOutTheFilesKeysOfAStrategyThatIsReplaced) {
  ScenarioValues values = small_values();
  values.by_path["cluster.preset"] = "dgx1-v100";
  values.by_path["training.bucket_cap"] = "1MiB";
  const Scenario scenario = scenario_of_options(values, {{"training.strategy", "wait_free"}});
  const auto said = scenario.assumptions.sentences();
  EXPECT_NE(
      std::find(
          said.begin(), said.end(),
          "training: left out, because it was given for strategy ddp and this run has wait_free: "
          "bucket_cap 1MiB; to keep it, give it beside that"),
      said.end());
  EXPECT_THROW((void)scenario_of_options(
                   values, {{"training.strategy", "wait_free"}, {"training.bucket_cap", "2MiB"}}),
               InputError);
}

TEST(Training, GivesDdpItsSettings) {
  const auto ddp = [](const Set& settings) {
    return training::ddp_settings(loaded(settings).strategy_settings);
  };
  const auto unless_given = ddp({});
  const training::DdpSettings defaults;
  EXPECT_EQ(unless_given.bucket_cap, defaults.bucket_cap);
  EXPECT_FALSE(unless_given.bucket_cap_was_set);
  EXPECT_FALSE(unless_given.first_bucket);
  EXPECT_EQ(unless_given.torch_minor, defaults.torch_minor);
  EXPECT_TRUE(unless_given.broadcast_buffers);
  const auto given = ddp({{"training.bucket_cap", "25MiB"},
                          {"training.first_bucket", "2MiB"},
                          {"training.torch_version", "1.13.1"},
                          {"training.broadcast_buffers", "false"},
                          {"training.iteration", "first"}});
  EXPECT_EQ(given.bucket_cap, defaults.bucket_cap);
  EXPECT_TRUE(given.bucket_cap_was_set);
  EXPECT_EQ(given.first_bucket, Bytes(2 << 20));
  EXPECT_EQ(given.torch_major, 1U);
  EXPECT_EQ(given.torch_minor, 13U);
  EXPECT_FALSE(given.broadcast_buffers);
  EXPECT_TRUE(given.first_iteration);
  EXPECT_FALSE(ddp({{"training.first_bucket", "auto"}}).first_bucket);
}

// Calls of NCCL are only launched; those of the others hold the host.
TEST(Training, TakesLaunchesAndComputeInTurnsWhereCallsHoldTheHost) {
  const auto host = [](const Set& settings) { return loaded(settings).training.host; };
  const Set nothing{{"training.host.per_operation", "0s"},
                    {"training.host.per_gradient", "0s"},
                    {"training.host.per_call", "0s"}};
  EXPECT_FALSE(host(nothing).any());
  const auto given = host({{"training.host.per_operation", "10us"},
                           {"training.host.per_gradient", "20us"},
                           {"training.host.per_call", "100us"}});
  EXPECT_DOUBLE_EQ(given.launches.backward.value(), 10e-6);
  EXPECT_DOUBLE_EQ(given.per_gradient.value(), 20e-6);
  EXPECT_DOUBLE_EQ(given.per_call.value(), 100e-6);
  EXPECT_FALSE(given.launches.take_turns);
  const auto library = [&](const char* name) {
    return host({{"collective.library", name}, {"training.host.per_call", "1us"}})
        .launches.take_turns;
  };
  EXPECT_FALSE(library("nccl"));
  EXPECT_TRUE(library("gloo"));
  EXPECT_FALSE(host({{"collective.library", "gloo"},
                     {"training.host.per_call", "1us"},
                     {"training.host.computes", "false"}})
                   .launches.take_turns);
  Set computes = nothing;
  computes.push_back({"training.host.computes", "true"});
  EXPECT_EQ(refused(computes),
            "command line: computes \"true\" has no effect: the host takes no time; give "
            "per_operation, per_gradient or per_call, or leave it out");
}

TEST(Training, RefusesKeysOfOtherStrategies) {
  EXPECT_EQ(refused({{"training.strategy", "wait_free"}, {"training.bucket_cap", "1MiB"}}),
            "command line: bucket_cap \"1MiB\" belongs to strategy: ddp; leave it out, or write "
            "strategy: ddp");
  EXPECT_EQ(
      refused({{"training.reshard_after_forward", "false"}}),
      "command line: reshard_after_forward \"false\" belongs to strategy: fsdp; leave it out, or "
      "write strategy: fsdp");
}

// ResNet-50 has 3 + 4 + 6 + 3 blocks; what is before and behind them is not recomputed.
TEST(Training, RecomputesCheckpointedBlocks) {
  // A host that launches at once: steps are as long as their kernels.
  const Set quick{{"training.host.per_operation", "1ns"}};
  const auto backward = [&](Set settings) {
    settings.insert(settings.end(), quick.begin(), quick.end());
    return loaded(settings).workload.backward().value();
  };
  double forward = 0;
  std::set<std::uint32_t> blocks;
  for (const auto& layer : loaded(quick).workload.layers) {
    if (!layer.block) continue;
    forward += layer.forward.value();
    blocks.insert(*layer.block);
  }
  EXPECT_EQ(blocks.size(), 16U);
  EXPECT_NEAR(backward({{"training.activation_checkpointing", "blocks"}}), backward({}) + forward,
              1e-12);
  EXPECT_EQ(backward({{"training.activation_checkpointing", "none"}}), backward({}));
}

TEST(Training, RefusesCheckpointsOfNothing) {
  EXPECT_EQ(refused({{"workload.model", "vgg16"}, {"training.activation_checkpointing", "blocks"}}),
            "command line: activation_checkpointing \"blocks\" finds no blocks in vgg16; leave it "
            "out, or put "
            "layers under repeat: in a network's file");
  EXPECT_EQ(
      refused({{"training.blocks_per_checkpoint", "2"}}),
      "command line: blocks_per_checkpoint \"2\" means nothing without activation_checkpointing: "
      "blocks; write activation_checkpointing: blocks, or leave it out");
}

TEST(Training, RefusesWhatHasNothingToActOn) {
  EXPECT_EQ(refused({{"training.parameters_as_bucket_view", "true"}}),
            "command line: strategy \"ddp\" ignores parameters_as_bucket_view without "
            "zero_redundancy_optimizer; add zero_redundancy_optimizer: true, or leave it out");
  EXPECT_EQ(refused({{"training.strategy", "deepspeed_zero"},
                     {"training.stage3_max_live_parameters", "1000"}}),
            "command line: strategy \"deepspeed_zero\" ignores stage3_max_live_parameters before "
            "stage 3, where every rank has all parameters; add stage: 3, or leave it out");
  EXPECT_EQ(
      refused({{"training.strategy", "deepspeed_zero"},
               {"training.reduce_scatter", "false"},
               {"training.use_multi_rank_bucket_allreduce", "false"}}),
      "command line: strategy \"deepspeed_zero\" ignores use_multi_rank_bucket_allreduce with "
      "reduce_scatter: false; leave out use_multi_rank_bucket_allreduce");
  EXPECT_EQ(
      refused({{"training.strategy", "fsdp"}, {"training.activation_checkpointing", "blocks"}}),
      "command line: strategy \"fsdp\" recomputes within a unit, and some checkpoints hold "
      "layers of several units; take wrap: blocks with blocks_per_checkpoint: 1, or a larger "
      "min_num_params");
}

TEST(Training, HoldsKeysToTheirTypes) {
  EXPECT_EQ(refused({{"training.strategy", "fsdp"}, {"training.backward_prefetch", "prae"}}),
            "command line: backward_prefetch \"prae\" is not known; did you mean pre? known: pre, "
            "post, none");
  EXPECT_EQ(refused({{"training.torch_version", "two"}}),
            "command line: torch_version \"two\" is not a version; write \"2.1\"");
  EXPECT_EQ(refused({{"training.gradient_accumulation", "0"}}),
            "command line: gradient_accumulation \"0\" is out of range; write a number from 1 to "
            "1000000");
  EXPECT_EQ(refused({{"training.optimizer.kid", "sgd"}}),
            "command line: unknown key \"training.optimizer.kid\"; did you mean kind?");
}

TEST(Training, RefusesDataParallelBeyondANode) {
  const Set two_nodes{{"training.strategy", "data_parallel"}, {"gpus", "16"}};
  EXPECT_EQ(refused(two_nodes),
            "command line: strategy \"data_parallel\" is one process on one node, and the cluster "
            "has 2; take strategy: ddp, or fewer GPUs");
  EXPECT_EQ(refused({{"training.strategy", "data_parallel"}, {"gpus", "8"}}), "");
}

TEST(Training, RefusesWhatApexRefuses) {
  EXPECT_EQ(refused({{"training.strategy", "apex_ddp"},
                     {"training.delay_allreduce", "true"},
                     {"training.num_allreduce_streams", "2"}}),
            "command line: strategy \"apex_ddp\" runs all-reduces after the backward with "
            "delay_allreduce, without streams of their own; leave out delay_allreduce or "
            "num_allreduce_streams");
  const Set bf16{{"training.strategy", "apex_ddp"},
                 {"workload.precision", "bf16"},
                 {"workload.device", "a100-sxm4-40gb"}};
  EXPECT_NE(refused(bf16).find("reduces fp16, fp32 and fp64 only"), std::string::npos)
      << refused(bf16);
  EXPECT_EQ(refused({{"training.strategy", "apex_ddp"}}), "");
}

// On one GPU there is no wrapper, whatever the strategy.
TEST(Training, TellsWhatAStrategyAssumes) {
  const auto told = [](const char* gpus) {
    const auto prepared =
        resolve(loaded({{"training.strategy", "data_parallel"}, {"gpus", gpus}}), 0, nullptr);
    return std::ranges::count_if(prepared.assumptions.sentences(), [](const auto& sentence) {
      return sentence.starts_with("data_parallel: ");
    });
  };
  EXPECT_EQ(told("8"), 4);
  EXPECT_EQ(told("1"), 0);
}

}  // namespace load_training_test
}  // namespace paceline
