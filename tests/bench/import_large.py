#!/usr/bin/python3
"""Speed and memory of `paceline import` on a large trace of PyTorch's profiler.

    tests/bench/import_large.py build/release/bin/paceline [--megabytes 1000] [--rounds 3]

Makes a trace of that size in a temporary folder: training steps of 161 gradients, four collectives
and 500 kernels with the arguments that profilers write, of which nearly all of such a file consists. Prints
the median time of the program, and its peak memory, beside the size of the file. The whole program is
timed: reading the file, parsing, the summary.
"""
import argparse
import json
import os
import resource
import statistics
import subprocess
import tempfile
import time


def event(category, name, start_us, length_us, **arguments):
    return json.dumps({"ph": "X", "cat": category, "name": name, "pid": 4242, "tid": 4242,
                       "ts": round(start_us, 3), "dur": round(length_us, 3), "args": arguments})


def kernel_arguments(number):
    return {"External id": number, "queued": 0, "device": 0, "context": 1, "stream": 7,
            "correlation": number, "registers per thread": 128, "shared memory": 49152,
            "blocks per SM": 3.2, "warps per SM": 25.6, "grid": [64, 4, 1], "block": [256, 1, 1],
            "est. achieved occupancy %": 38}


def step_events(step):
    """100 ms each; numbers do not repeat."""
    at, number = step * 1e5, step * 4000
    yield event("user_annotation", f"ProfilerStep#{step}", at, 99000)
    for i in range(500):
        number += 1
        yield event("cpu_op", "aten::cudnn_convolution", at + 10 + i * 100, 60,
                    **{"External id": number, "Sequence number": number, "Fwd thread id": 0,
                       "Input Dims": [[32, 256, 56, 56], [64, 256, 1, 1], [], [], []],
                       "Input type": ["float", "float", "", "", ""]})
        yield event("cuda_runtime", "cudaLaunchKernel", at + 20 + i * 100, 8,
                    **{"External id": number, "cbid": 211, "correlation": number})
        yield event("kernel", "void cudnn::winograd_nonfused::winogradForwardData4x4<float, float>"
                    "(cudnn::winograd_nonfused::WinogradDataParams<float, float>)",
                    at + 100 + i * 150, 140, **kernel_arguments(number))
    for i in range(161):
        yield event("cpu_op",
                    "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad",
                    at + 50100 + i * 100, 20, **{"External id": number})
    for i in range(4):
        number += 1
        told = {"Collective name": "allreduce", "In msg nelems": 6000000, "Out msg nelems": 6000000,
                "Group size": 8, "dtype": "Float", "In split size": "[]", "Out split size": "[]",
                "Process Group Name": "0", "Process Group Ranks": "[0, 1, 2, 3, 4, 5, 6, 7]"}
        yield event("cpu_op", "record_param_comms", at + 54100 + i * 4000, 40,
                    **{"External id": number, **told})
        yield event("cuda_runtime", "cudaLaunchKernelExC", at + 54120 + i * 4000, 10,
                    **{"External id": number, "correlation": number})
        yield event("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage)",
                    at + 76000 + i * 4000, 3000, **{**kernel_arguments(number), "stream": 20})


def write_trace(path, size):
    with open(path, "w", encoding="utf-8") as out:
        out.write('{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "made up"}],\n'
                  '"distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 8},\n'
                  '"traceEvents": [\n')
        step = 0
        while out.tell() < size:
            out.write((",\n" if step else "") + ",\n".join(step_events(step)))
            step += 1
        out.write("\n]}\n")
    return step


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--megabytes", type=float, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        steps = write_trace(path, asked.megabytes * 1e6)
        size = os.path.getsize(path)
        times, cpu_times = [], []
        for _ in range(asked.rounds):
            before = cpu_seconds()
            begun = time.monotonic()
            subprocess.run([asked.program, "import", path], check=True, stdout=subprocess.DEVNULL)
            times.append(time.monotonic() - begun)
            cpu_times.append(cpu_seconds() - before)
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    median = statistics.median(times)
    print(f"{size / 1e6:.0f} MB, {steps} steps: {median:.2f} s ({min(times):.2f} to "
          f"{max(times):.2f} of {asked.rounds}), {size / 1e6 / median:.0f} MB/s, "
          f"{size / 1e6 / statistics.median(cpu_times):.0f} MB per second of CPU, peak memory "
          f"{peak / 1e6:.0f} MB, {peak / size:.2f} times the file")


if __name__ == "__main__":
    main()
