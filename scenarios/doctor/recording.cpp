#include "scenarios/doctor/recording.h"

namespace paceline::doctor {
namespace {

RecordingAdvice profiler(const TracingTools& tools) {
  return {
      "PyTorch's profiler",
      tools.torch,
      "kernels, collectives and gradients of a script that can be changed",
      {"import os", "from torch.profiler import ProfilerActivity, profile, schedule",
       "rank = os.environ.get('RANK', '0')",
       "with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],",
       "             schedule=schedule(wait=5, warmup=3, active=5, repeat=1),",
       "             record_shapes=True, with_stack=False,",
       "             on_trace_ready=lambda p: p.export_chrome_trace(f'trace.{rank}.json')) as p:",
       "    for batch in loader:  # your training loop", "        train_step(batch)",
       "        p.step()"},
      true,
      {"The schedule skips the first steps, in which DDP builds its buckets anew and kernels are "
       "chosen.",
       "record_shapes=True shows the sizes of gradients and collectives.",
       "Stacks cost time in every step, so with_stack is off.",
       "Each rank writes a file of its own."},
      "paceline import trace.*.json"};
}

RecordingAdvice recorder(const TracingTools& tools) {
  return {"paceline_recorder.py",
          tools.torch,
          "the times of layers, gradients and buckets without a profiler's cost, on CPUs as well",
          {"import paceline_recorder  # traces/torch/paceline_recorder.py, beside the script",
           "# train for a few steps first: DDP builds its buckets anew after the first",
           "with paceline_recorder.record('run.trace'):", "    train()"},
          true,
          {"Each rank writes run.RANK.trace. Recording ends after 100 steps."},
          "paceline import run.*.trace"};
}

RecordingAdvice nsight(const TracingTools& tools) {
  return {"Nsight Systems",
          tools.nsys,
          "a program that cannot be changed, on NVIDIA's GPUs",
          {"nsys profile --trace=cuda,nvtx --cuda-graph-trace=node --delay=30 --duration=20 "
           "-o report python3 train.py",
           "nsys export --type sqlite report.nsys-rep"},
          false,
          {"With NVTX and NCCL 2.14 or later, the report contains the sizes of collectives.",
           "The delay skips the start of the program, and the duration keeps the report small."},
          "paceline import report.sqlite"};
}

}  // namespace

std::vector<RecordingAdvice> recording_advice(const TracingTools& tools) {
  return {profiler(tools), recorder(tools), nsight(tools)};
}

}  // namespace paceline::doctor
