#!/usr/bin/python3
"""How `paceline import` and `paceline replay` grow with the collectives of a step.

    tests/bench/many_calls.py [build/release/bin/paceline] [--calls 100,400,1000,10000,100000]

Makes traces of PyTorch's profiler of three steps with that many all-reduces, and prints, for each
command, seconds of CPU of all its processes and peak memory of the largest, and how both grow: the
exponent from one row to the next, 1 where they are linear.
"""
import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
STEPS = 3
CALL_US = 100  # of the step, a call


def event(category, name, start_us, length_us, **arguments):
    return {"ph": "X", "cat": category, "name": name, "pid": 1, "tid": 1, "ts": round(start_us, 3),
            "dur": round(length_us, 3), "args": arguments}


def launched(call, kernel, number, stream):
    """What the host does, and the kernel, which have a correlation."""
    runtime = event("cuda_runtime", "cudaLaunchKernel", call, 2, correlation=number)
    return [runtime, event("kernel", *kernel, correlation=number, stream=stream)]


def call_events(number, at, elements, ranks):
    """Compute, and then an all-reduce. Of every other one compute waits for the end."""
    told = {"Collective name": "allreduce", "In msg nelems": elements, "Out msg nelems": elements,
            "Group size": ranks, "dtype": "Float", "Process Group Name": "0"}
    length = 35 if number % 2 else 60
    yield from launched(at + 2, ("gemm", at + 50, 30), 2 * number, 7)
    yield event("cpu_op", "record_param_comms", at + 10, 8, **{"External id": number, **told})
    yield from launched(at + 12, ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(args)", at + 80, length),
                        2 * number + 1, 20)


def trace(rank, ranks, calls, sizes):
    events = []
    for step in range(STEPS):
        at = step * (calls + 2) * CALL_US
        events.append(event("user_annotation", f"ProfilerStep#{step}", at, (calls + 1) * CALL_US))
        for i in range(calls):
            elements = 1_000_000 + 1000 * (i % sizes)
            events += call_events(step * calls + i, at + i * CALL_US, elements, ranks)
    return {"distributedInfo": {"backend": "nccl", "rank": rank, "world_size": ranks},
            "traceEvents": events}


def write_traces(folder, ranks, calls, sizes):
    for rank in range(ranks):
        with open(os.path.join(folder, f"rank{rank}.json"), "w", encoding="utf-8") as out:
            json.dump(trace(rank, ranks, calls, sizes), out)


def measured(command):
    """Exit code, seconds of CPU and peak MB of the largest; measured in a process of its own."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        told = [done.returncode, used.ru_utime + used.ru_stime, used.ru_maxrss / 1e3,
                done.stderr.decode()[-300:]]
        os.write(write_end, json.dumps(told).encode())
        os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end) as answer:
        code, seconds, peak, said = json.load(answer)
    os.waitpid(child, 0)
    if code != 0:
        print(f"{' '.join(command)}: {code}: {said}", file=sys.stderr)
    return code, seconds, peak


def exponent(before, now):
    """Of (calls, what they took)."""
    if before is None:
        return "-"
    return f"{math.log(now[1] / before[1]) / math.log(now[0] / before[0]):.2f}"


def commands(program, folder):
    predicted = ["--set", "cluster.preset=dgx-a100", "--set", "gpus=1024"]
    return {"import": [program, "import", folder, "-o", folder + ".run"],
            "replay": [program, "replay", folder],
            "replay, 1,024 GPUs": [program, "replay", folder, *predicted]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", nargs="?",
                        default=os.path.join(ROOT, "build/release/bin/paceline"))
    parser.add_argument("--calls", default="100,400,1000,10000,100000")
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--sizes", type=int, default=8, help="different sizes of all-reduces")
    parser.add_argument("--only", default="", help="commands whose names begin so")
    asked = parser.parse_args()
    print("| command | calls a step | CPU, s | MB | exponent of time, of memory |\n|---|---|---|---|---|")
    before = {}
    for calls in map(int, asked.calls.split(",")):
        with tempfile.TemporaryDirectory() as made:
            folder = os.path.join(made, "traces")
            os.mkdir(folder)
            write_traces(folder, asked.ranks, calls, asked.sizes)
            for name, command in commands(asked.program, folder).items():
                if not name.startswith(asked.only):
                    continue
                if calls > 10_000 and name != "import":
                    continue
                code, seconds, peak = measured(command)
                last_seconds, last_peak = before.get(name, (None, None))
                grown = (exponent(last_seconds, (calls, seconds)), exponent(last_peak, (calls, peak)))
                before[name] = ((calls, seconds), (calls, peak))
                failed = f", exit {code}" if code else ""
                print(f"| {name} | {calls:,} | {seconds:.2f}{failed} | {peak:.0f} | "
                      f"{', '.join(grown)} |", flush=True)


if __name__ == "__main__":
    main()
