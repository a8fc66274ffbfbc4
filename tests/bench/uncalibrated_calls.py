#!/usr/bin/env python3
"""What all-reduces take by NCCL's choice and a description of the cluster alone, beside public logs.

ABCI's logs: prints, by log, the geometric mean of max(predicted/measured, measured/predicted) - 1
over sizes of 1 KiB and more, with NCCL's choice and as one ring; then quantiles of measured over
predicted.

--presets: the table of models/topology/presets/README.md, for each public log of machines that a
preset describes the geometric mean of predicted/measured time below 64 KiB and from there on (and
how many sizes) and how many lie in the 90 % interval, then of each preset the geometric mean over
its logs, the least and the most, and of max(predicted/measured, measured/predicted).

--presets needs data beside the checkout: the logs in ../shared/data/nccl-tests, or where --logs says.

Usage: tests/bench/uncalibrated_calls.py [--presets [--logs FOLDER]] [--paceline build/release/bin/paceline]
"""

import argparse
import csv
import json
import math
import os
import pathlib
import re
import subprocess
import sys
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


class Log:
    """A public log, and what `paceline collective` needs to know of its run."""

    def __init__(self, preset, gpus, file, device, *options, collective="all_reduce", after=""):
        self.preset, self.gpus, self.file = preset, gpus, file
        self.options = ["--device", device, "--collective", collective, *options]
        self.collective, self.after = collective, after  # after: a line before its rows

    def measured(self, folder):
        """Seconds by size, out of place; in place where only that is published."""
        text = (folder / self.file).read_text()
        text = text[text.index(self.after) :]
        if self.file.endswith("-busbw.md"):
            rows = re.findall(r"^\| [0-9]+[KMG] +\| ([0-9.]+) +\|", text, re.M)
            factor = 2 * (self.gpus - 1) / self.gpus
            sizes = {1024 << i: float(speed) for i, speed in enumerate(rows)}
            # Two digits behind the point: what is below 0.1 GB/s is only roughly known.
            return {s: factor * s / (v * 1e9) for s, v in sizes.items() if v >= 0.1}
        if self.file.endswith(".csv"):
            rows = re.findall(r"^(\d+),\d+,float,([0-9.]+),", text, re.M)
            return {int(s): float(ns) * 1e-9 for s, ns in rows if int(s) & (int(s) - 1) == 0}
        times = {}
        for fields in map(str.split, text.splitlines()):
            if len(fields) < 12 or "float" not in fields:
                continue
            # size, count, type, redop, perhaps root; time, two speeds, errors, and these in place
            size = int(fields[fields.index("float") - 2])
            if size >= 4:
                times.setdefault(size, float(fields[-8]) * 1e-6)
        return times


RACKS = ["--set", "cluster.gpus_per_node=64", "--set", "cluster.network.nics_per_node=64"]

# Logs whose runs took what NCCL takes by itself, but for rings where the log says so (p3dn with 16
# GPUs: NCCL_TREE_THRESHOLD=0). NCCL's version where the log tells it. h100-*: described by GPU and
# NICs, of makers that are not told or others than NVIDIA. NCCL chooses alike for GB200 and GB300.
# Not here: logs of all_reduce_perf with other things forced, of machines without a preset, and of one
# GPU a node on a network without figures. Two of the logs are what
# pcie-tree-8-no-p2p was fitted to; hop latencies of dgx-a100 and pcie-tree-8 are of the smallest
# size of ABCI's with 8 GPUs and of bessemer's.
LOGS = [
    Log("dgx1-v100", 2, "vtrain-v100-2gpu-1node.csv", "v100-sxm2-32gb"),
    Log("dgx1-v100", 3, "vtrain-v100-3gpu-1node.csv", "v100-sxm2-32gb"),
    Log("dgx1-v100", 4, "vtrain-v100-4gpu-1node.csv", "v100-sxm2-32gb"),
    Log("dgx1-v100", 7, "vtrain-v100-7gpu-1node.csv", "v100-sxm2-32gb"),
    Log("dgx1-v100", 8, "vtrain-v100-8gpu-1node.csv", "v100-sxm2-32gb"),
    Log("dgx-a100", 2, "vtrain-a100-2gpu-1node.csv", "a100-sxm4-80gb"),
    Log("dgx-a100", 3, "vtrain-a100-3gpu-1node.csv", "a100-sxm4-80gb"),
    Log("dgx-a100", 4, "vtrain-a100-4gpu-1node.csv", "a100-sxm4-80gb"),
    Log("dgx-a100", 6, "vtrain-a100-6gpu-1node.csv", "a100-sxm4-80gb"),
    Log("dgx-a100", 8, "vtrain-a100-8gpu-1node.csv", "a100-sxm4-80gb"),
    Log("dgx-a100", 4, "abci2-A100-SXM4-40GB-4gpu-1node.txt", "a100-sxm4-40gb", "--version", "2.8"),
    Log("dgx-a100", 8, "abci2-A100-SXM4-40GB-8gpu-1node.txt", "a100-sxm4-40gb", "--version", "2.8"),
    Log("dgx-a100", 8, "a100-sxm4-80gb-8gpu-1node-thanos-mpirun.txt", "a100-sxm4-80gb"),
    Log("dgx-a100", 8, "a100-sxm4-80gb-8gpu-1node-thanos-1process.txt", "a100-sxm4-80gb"),
    Log("dgx-a100", 8, "galvatron-a100-sxm4-40gb-8gpu-1node.txt", "a100-sxm4-40gb"),
    Log("azure-nd-a100-v4", 8, "azure-ND_A100_v4-8gpu-1node-busbw.md", "a100-sxm4-80gb", "--version", "2.18"),
    Log("oci-bm-gpu-b4-8", 8, "oci-jp-A100-40GB-10GiB-1and2node.txt", "a100-sxm4-40gb", after="# 1 node"),
    Log("oci-bm-gpu-b4-8", 16, "oci-jp-A100-40GB-10GiB-1and2node.txt", "a100-sxm4-40gb", after="# 2 nodes"),
    Log("oci-bm-gpu-b4-8", 16, "oci-2x-BM.GPU.B4.8-16xA100-40GB-nccl2.29.txt", "a100-sxm4-40gb", "--version", "2.29"),
    Log("aws-p4d-24xlarge", 16, "aws-2x-p4d-16xA100-40GB-efa-eks.txt", "a100-sxm4-40gb", "--version", "2.9"),
    Log("aws-p4d-24xlarge", 16, "aws-2x-p4d-16xA100-40GB-efa-eks-nccl2.9.9.txt", "a100-sxm4-40gb", "--version", "2.9"),
    Log("aws-p4d-24xlarge", 16, "aws-2x-p4de.24xlarge-16xA100-efa.txt", "a100-sxm4-80gb"),
    Log("aws-p3dn-24xlarge", 16, "aws-2x-p3dn-16xV100-efa-nccl2.4.8.txt", "v100-sxm2-32gb", "--version", "2.4",
        "--algorithm", "ring"),
    Log("aws-p3dn-24xlarge", 16, "aws-2x-p3dn-16xV100-efa-nccl2.4.6-tree-cybertronai.txt", "v100-sxm2-32gb",
        "--version", "2.4", "--algorithm", "ring"),
    Log("aws-p3dn-24xlarge", 2, "aws-2x-p3dn-1gpu-each-V100-efa.txt", "v100-sxm2-32gb",
        "--set", "cluster.gpus_per_node=1"),
    Log("azure-nd-h100-v5", 8, "azure-ND_H100_v5-8gpu-1node-busbw.md", "h100-sxm5-80gb", "--version", "2.18"),
    Log("dgx-h100", 8, "azure-ND_H200_v5-8gpu-1node-busbw.md", "h200-sxm5-141gb", "--version", "2.20"),
    Log("dgx-h100", 16, "h100-2node-16gpu-8hca-ib.txt", "h100-sxm5-80gb"),
    Log("dgx-h100", 16, "h100-clusterB-2node-16gpu-ib400.txt", "h100-sxm5-80gb"),
    Log("dgx-h100", 16, "h100-clusterB-2node-16gpu-ib400-RING-minctas24.txt", "h100-sxm5-80gb", "--algorithm", "ring",
        "--min-ctas", "24"),
    Log("dgx-h100", 16, "h100-xe9680-2node-16gpu-ndr400-nccl2.26.2.txt", "h100-sxm5-80gb", "--version", "2.26"),
    Log("gcp-a3-megagpu-8g", 16, "gcp-gke-2x-a3megagpu-16xH100-ALLGATHER.txt", "h100-sxm5-80gb",
        collective="all_gather"),
    Log("gb300-nvl72", 4, "oci-gb300-1-2-16-32node.md", "gb200-186gb", after="Performance Single Node\n"),
    Log("gb300-nvl72", 8, "oci-gb300-1-2-16-32node.md", "gb200-186gb", after="Performance 2 Nodes on a Single Rack\n"),
    Log("gb300-nvl72", 64, "oci-gb300-1-2-16-32node.md", "gb200-186gb", after="Multi-node 1 Rack - 16 nodes\n"),
    Log("gb300-nvl72", 128, "oci-gb300-1-2-16-32node.md", "gb200-186gb", *RACKS, "--fidelity", "folded",
        after="Multi-node 2 Racks - 32 nodes\n"),
    Log("csc-mahti", 4, "sheffield-stanage-4xA100-SXM4-80GB.txt", "a100-sxm4-80gb"),
    Log("csc-puhti", 4, "abci2-V100-SXM2-4gpu-1node.txt", "v100-sxm2-16gb", "--version", "2.8"),
    Log("pcie-tree-8", 4, "sheffield-bessemer-4xV100-PCIE-32GB-nccl0.txt", "v100-pcie-32gb", "--version", "2.8"),
    Log("pcie-tree-8", 4, "sheffield-bessemer-4xV100-PCIE-32GB-nccl1.txt", "v100-pcie-32gb", "--version", "2.8"),
    Log("pcie-tree-8", 4, "sheffield-bessemer-4xV100-PCIE-32GB-nccl2.txt", "v100-pcie-32gb", "--version", "2.8"),
    Log("pcie-tree-8-no-p2p", 2, "autodl-2xRTX2080Ti-pcie-all-collectives.txt", "rtx-2080-ti"),
    Log("pcie-tree-8-no-p2p", 8, "8xRTX2080Ti-pcie-1node-jungpu30.txt", "rtx-2080-ti"),
    Log("v100-pcie-4", 2, "azure-2xV100-PCIE-16GB-1node-shm.txt", "v100-pcie-16gb"),
]


def measured(log):
    """Seconds by size, out of place."""
    lines = [line for line in open(log) if not line.startswith("#")]
    rows = csv.reader(lines[1:])
    assert lines[0].startswith("size(B),time(us)"), log
    return {int(row[0]): float(row[1]) * 1e-6 for row in rows if int(row[0]) >= 1024}


def predicted(paceline, cluster, gpus, sizes, options):
    """Seconds by size."""
    return {size: row["time_s"] for size, row in predicted_rows(paceline, cluster, gpus, sizes, options).items()}


def predicted_rows(paceline, cluster, gpus, sizes, options):
    # One run of doubling sizes covers those of a log.
    command = [paceline, "collective", cluster, "--gpus", str(gpus), "--min", f"{min(sizes)}B",
               "--max", f"{max(sizes)}B", "--quiet", "--json", "-", *options]
    rows = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["rows"]
    return {row["size_bytes"]: row for row in rows}


def mean_error(ratios):
    return math.exp(sum(abs(math.log(r)) for r in ratios) / len(ratios)) - 1


def quantile(values, part):
    return sorted(values)[min(len(values) - 1, int(part * len(values)))]


def mean(factors):
    return math.exp(sum(map(math.log, factors)) / len(factors))


def told(factors):
    if not factors:
        return ""
    spread = f" ({min(factors):.2f} to {max(factors):.2f})" if len(factors) > 1 else ""
    return f"{mean(factors):.2f}{spread}"


def compare_presets(paceline, folder):
    if not folder.is_dir():
        sys.exit(f"no logs at {folder}: --logs FOLDER")
    limit = 64 << 10
    presets = {}  # of each the logs, the means of those that have sizes below and from there on, factors, coverage
    for log in LOGS:
        times = log.measured(folder)
        assert times, log.file
        cluster = str(ROOT / f"models/topology/presets/{log.preset}.yaml")
        rows = predicted_rows(paceline, cluster, log.gpus, times, log.options)
        parts, inside = ([], []), []
        for size, time in times.items():
            row = rows[size]
            parts[size >= limit].append(row["time_s"] / time)
            inside.append(row["time_s_low"] <= time <= row["time_s_high"])
        held = sum(inside) / len(inside)
        logs, means, factors, coverage = presets.setdefault(log.preset, ([], ([], []), ([], []), []))
        logs.append(log)
        for part, ratios in enumerate(parts):
            means[part].extend([mean(ratios)] if ratios else [])
            factors[part].extend([1 + mean_error(ratios)] if ratios else [])
        coverage.append(held)
        print(f"{log.preset:18} {log.gpus:4} GPUs",
              *(f"{mean(p):5.2f} ({len(p):2})" if p else " " * 10 for p in parts), f"{held:5.0%}", log.file)
    print("\n| preset | GPUs, logs | below 64 KiB | mean factor | from 64 KiB | mean factor | in the 90 % interval |\n"
          "|---|---|---|---|---|---|---|")
    for preset, (logs, means, factors, coverage) in presets.items():
        gpus = ", ".join(map(str, sorted({log.gpus for log in logs})))
        count = f"{len(logs)} log{'s' if len(logs) > 1 else ''}"
        cells = [cell for part in (0, 1) for cell in (told(means[part]), factor_of(factors[part]))]
        print(f"| {preset} | {gpus}; {count} | {' | '.join(cells)} | {sum(coverage) / len(coverage):.0%} |")
    every = [of for _, _, *of in presets.values()]
    cells = [cell for part in (0, 1) for cell in ("", factor_of([mean(f[part]) for f, _ in every if f[part]]))]
    held = sum(sum(c) / len(c) for _, c in every) / len(every)
    print(f"| mean of presets | | {' | '.join(cells)} | {held:.0%} |")


def factor_of(factors):
    return f"{mean(factors):.2f}" if factors else ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--paceline", default=str(ROOT / "build/release/bin/paceline"))
    parser.add_argument("--presets", action="store_true")
    parser.add_argument("--logs", type=pathlib.Path, default=ROOT / "../shared/data/nccl-tests")
    arguments = parser.parse_args()
    if arguments.presets:
        compare_presets(arguments.paceline, arguments.logs)
    else:
        compare_abci(arguments.paceline)


def compare_abci(paceline):
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
