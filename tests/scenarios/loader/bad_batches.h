#pragma once

#include "tests/scenarios/loader/bad_scenario.h"

// Batches that are shared or timed, and are refused.
namespace paceline::test {

#define PACELINE_SHARED(global_batch, more) \
  "job: {global_batch: " global_batch "}\nworkload:\n" more

// On two nodes of two GPUs.
inline constexpr BadScenario bad_batches[] = {
    {"GlobalBatchThatPassesOfABatchDoNotReach", "workload:\n  batch_per_gpu: 8\n",
     PACELINE_SHARED("@80", "  batch_per_gpu: 8\n"),
     "global_batch \"80\" is not a multiple of 4 GPUs x 8 samples of workload.batch_per_gpu; write "
     "64 or 96, or take gpus: 2 or 10"},
    // 3 and 5 GPUs fill no nodes of two; 2 and 6 do, and divide 30.
    {"GlobalBatchThatDoesNotDivide", "workload:\n  batch_per_gpu: 8\n",
     PACELINE_SHARED("@30", "  layers_batch: 8\n"),
     "global_batch \"30\" is not a multiple of 4 GPUs; write 28 or 32, or take gpus: 2 or 6"},
    // One GPU is a part of a node, and no more than 3 have a sample each.
    {"GlobalBatchOfFewerSamplesThanGpus", "workload:\n  batch_per_gpu: 8\n",
     PACELINE_SHARED("@3", "  layers_batch: 8\n"),
     "global_batch \"3\" is not a multiple of 4 GPUs; write 4, or take gpus: 1"},
    {"GlobalBatchThatPassesDoNotDivide",
     "training: {strategy: bulk_synchronous, optimizer: {kind: sgd, time: 1ms}}\n",
     "training: {strategy: bulk_synchronous, gradient_accumulation: 2}\n"
     "sweep: {job.global_batch: [64, @28]}\n",
     "global_batch \"28\" is not a multiple of 4 GPUs x 2 passes; write 24 or 32, or take gpus: 2 "
     "or 14"},
    {"GlobalBatchWithoutThatOfTheLayers", "workload:\n  batch_per_gpu: 8\n  device",
     PACELINE_SHARED("64", "  @device"),
     "workload.layers_batch is missing, and no batch_per_gpu stands beside layers; write "
     "layers_batch: 32"},
    {"GlobalBatchWithoutThatOfTheMeasurement", "workload:\n  batch_per_gpu: 8\n  device",
     PACELINE_SHARED("64", "  @layers_batch: 8\n  single_gpu_throughput: 9 samples/s\n  device"),
     "workload.single_gpu_batch is missing, and no batch_per_gpu stands beside "
     "single_gpu_throughput; write single_gpu_batch: "
     "32"},
    {"GlobalBatchOfATrace", "workload:\n  batch_per_gpu: 8\n",
     PACELINE_SHARED("@64", "  trace: some.json\n"),
     "global_batch \"64\" is shared by any number of GPUs, and a trace's compute is of its own"},
    {"BatchOfLayersThatAreNotThere",
     "  layers:\n    - {name: a, forward: 1ms, backward: 2ms, parameters: [1000, 20]}\n"
     "    - {name: b, forward: 1ms, backward: 2ms, parameters: [3000]}\n",
     "  model: resnet18\n  layers_batch: @8\n",
     "layers_batch \"8\" is of layers, and the scenario has none; leave it out"},
    {"ThroughputsWithoutBatches", "  batch_per_gpu: 8\n",
     "  batch_per_gpu: 8\n  single_gpu_throughput: [@9 samples/s]\n",
     "single_gpu_throughput \"9 samples/s\" is not a map"},
    {"ThroughputWithoutItsBatch", "  batch_per_gpu: 8\n",
     "  batch_per_gpu: 8\n  single_gpu_throughput: [@{throughput: 9 samples/s}]\n",
     "workload.single_gpu_throughput.batch is missing; write batch: 32"},
    {"ThroughputOfNoSamples", "  batch_per_gpu: 8\n",
     "  batch_per_gpu: 8\n  single_gpu_throughput: [{batch: @0, throughput: 9 samples/s}]\n",
     "batch \"0\" is out of range"},
    {"ThroughputsOfOneBatch", "  batch_per_gpu: 8\n",
     "  batch_per_gpu: 8\n  single_gpu_throughput: [{batch: 4, throughput: 9 samples/s}, "
     "{batch: @4, throughput: 8 samples/s}]\n",
     "batch \"4\" is twice in the list; leave one of them out"},
    {"BatchBesideThroughputsThatHaveTheirs", "  batch_per_gpu: 8\n",
     "  batch_per_gpu: 8\n  single_gpu_throughput: [{batch: 4, throughput: 9 samples/s}]\n"
     "  single_gpu_batch: @4\n",
     "single_gpu_batch \"4\" stands beside a list, which has a batch with each throughput"},
    {"GlobalBatchThatAnAxisDoesNotDivide", "workload:\n  batch_per_gpu: 8\n",
     "sweep: {gpus: [2, 4, 6]}\n" PACELINE_SHARED("@32", "  layers_batch: 8\n"),
     "global_batch \"32\" is not a multiple of 6 GPUs; write 30 or 36, or take gpus: 4 or 8"},
    {"TwoAxesOfBatches", "",
     "sweep: {job.global_batch: [128, @64], workload.batch_per_gpu: [8, 32]}\n",
     "global_batch \"64\" is not a multiple of 4 GPUs x 32 samples of workload.batch_per_gpu; "
     "write "
     "128, or take gpus: 2"},
    {"GlobalBatchBesideBatchAndPasses",
     "training: {strategy: bulk_synchronous, optimizer: {kind: sgd, time: 1ms}}\n",
     "training: {strategy: bulk_synchronous, gradient_accumulation: 2}\njob: {global_batch: @64}\n",
     "global_batch \"64\" stands beside workload.batch_per_gpu and training.gradient_accumulation; "
     "leave one of the three out"},
};

#undef PACELINE_SHARED

}  // namespace paceline::test
