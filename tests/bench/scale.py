#!/usr/bin/env python3
"""What a prediction costs as the number of GPUs grows: whole `paceline run` processes on one core.

Usage: scale.py [PACELINE] (default: build/release/bin/paceline). One BERT-Large step a process, from
scenarios/library/whatif-scale-bert-large-a100.yaml. Prints medians of 9 runs, their range, the peak
memory of the largest process, and what was simulated.
"""
import json
import os
import resource
import statistics
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PACELINE = sys.argv[1] if len(sys.argv) > 1 else os.path.join(ROOT, "build/release/bin/paceline")
SCENARIO = os.path.join(ROOT, "scenarios/library/whatif-scale-bert-large-a100.yaml")
RUNS = 9


def one_run(arguments):
    """Seconds and peak MiB of a process with all its children; measured in a process of its own."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        start = time.perf_counter()
        done = subprocess.run([PACELINE, "run", SCENARIO, *arguments], stdout=subprocess.DEVNULL)
        seconds = time.perf_counter() - start
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        os.write(write_end, json.dumps([done.returncode, seconds, peak]).encode())
        os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end) as answer:
        code, seconds, peak = json.load(answer)
    os.waitpid(child, 0)
    if code != 0:
        sys.exit(f"{PACELINE} ended with {code}")
    return seconds, peak


def main():
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    print("| algorithm | GPUs | whole process, ms | peak, MiB | transfers | solves |")
    print("|---|---|---|---|---|---|")
    for algorithm in ("hierarchical", "ring"):
        for gpus in (64, 256, 1024, 4096, 16384):
            arguments = ["--set", f"sweep.gpus=[{gpus}]",
                         "--set", f"sweep.collective.algorithm=[{algorithm}]", "--jobs", "1"]
            runs = [one_run(arguments) for _ in range(RUNS)]
            told = subprocess.run([PACELINE, "run", SCENARIO, *arguments, "--json", "-", "--quiet"],
                                  stdout=subprocess.PIPE, check=True)
            point = json.loads(told.stdout)["points"][0]
            times = sorted(seconds * 1e3 for seconds, _ in runs)
            print(f"| {algorithm} | {gpus:,} | {statistics.median(times):.0f} "
                  f"({times[0]:.0f} to {times[-1]:.0f}) | {max(peak for _, peak in runs):.0f} "
                  f"| {point['transfers']:.3g} | {point['simgrid_solves']} |")


if __name__ == "__main__":
    main()
