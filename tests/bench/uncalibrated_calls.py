#!/usr/bin/env python3
"""What all-reduces take by NCCL's choice and a description of the cluster alone, beside ABCI's logs.

Prints, by log, the geometric mean of max(predicted/measured, measured/predicted) - 1 over sizes of
1 KiB and more, with NCCL's choice and as one ring; then quantiles of measured over predicted, from
which the interval of calls that no calibration covers is taken (scenarios/run/resolve.cpp).

Usage: tests/bench/uncalibrated_calls.py [--paceline build/release/bin/paceline]
"""

import argparse
import csv
import json
import math
import os
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]

# docs.abci.ai: compute node (A) has 8 A100 behind NVSwitch and 4 NICs of InfiniBand HDR; compute
# node (V) 4 V100-SXM2, each pair joined by two NVLinks, and 2 NICs of InfiniBand EDR. The rest is
# of the presets dgx-a100 and dgx1-v100.
NODES = {
    "abci-a100": (
        "a100-sxm4-40gb",
        """gpus_per_node: 8
intra_node: {kind: nvswitch, bandwidth: 240GBps, latency: 0.74us, host_bandwidth: 24GBps}
network: {bandwidth: 200Gbps, latency: 3us, nics_per_node: 4, efficiency: 0.96}
""",
        (8, 16, 32),
    ),
    "abci-v100": (
        "v100-sxm2-16gb",
        """gpus_per_node: 4
intra_node: {kind: nvlink_mesh, bandwidth: 22.5GBps, latency: 0.6us, host_bandwidth: 12GBps,
  lanes: [[0, 2, 2, 2], [2, 0, 2, 2], [2, 2, 0, 2], [2, 2, 2, 0]]}
network: {bandwidth: 100Gbps, latency: 3us, nics_per_node: 2, efficiency: 0.92}
""",
        (4, 8, 16, 32),
    ),
}


def measured(log):
    """Seconds by size, out of place."""
    lines = [line for line in open(log) if not line.startswith("#")]
    rows = csv.reader(lines[1:])
    assert lines[0].startswith("size(B),time(us)"), log
    return {int(row[0]): float(row[1]) * 1e-6 for row in rows if int(row[0]) >= 1024}


def predicted(paceline, cluster, gpus, sizes, options):
    # One run of doubling sizes covers those of a log.
    command = [paceline, "collective", cluster, "--gpus", str(gpus), "--min", f"{min(sizes)}B",
               "--max", f"{max(sizes)}B", "--quiet", "--json", "-", *options]
    rows = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["rows"]
    return {row["size_bytes"]: row["time_s"] for row in rows}


def mean_error(ratios):
    return math.exp(sum(abs(math.log(r)) for r in ratios) / len(ratios)) - 1


def quantile(values, part):
    return sorted(values)[min(len(values) - 1, int(part * len(values)))]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--paceline", default=str(ROOT / "build/release/bin/paceline"))
    paceline = parser.parse_args().paceline
    every = []
    print("log                points  NCCL's choice  one ring")
    with tempfile.TemporaryDirectory() as folder:
        for name, (device, text, groups) in NODES.items():
            cluster = os.path.join(folder, name + ".yaml")
            pathlib.Path(cluster).write_text("schema: paceline.cluster/1\n" + text)
            for gpus in groups:
                log = measured(ROOT / f"scenarios/library/logs/{name}-{gpus}gpu.csv")
                ratios = []
                for options in (["--device", device, "--version", "2.8"], ["--library", "plan", "--algorithm", "ring"]):
                    of = predicted(paceline, cluster, gpus, log, options)
                    assert set(log) <= set(of), log
                    ratios.append([time / of[size] for size, time in log.items()])
                every += ratios[0]
                print(f"{name}-{gpus}gpu".ljust(18), f"{len(ratios[0]):7}",
                      f"{mean_error(ratios[0]):14.1%}", f"{mean_error(ratios[1]):9.1%}")
    print(f"\nmeasured / predicted, {len(every)} points: 5% {quantile(every, 0.05):.2f}, "
          f"median {quantile(every, 0.5):.2f}, 95% {quantile(every, 0.95):.2f}")


if __name__ == "__main__":
    main()
